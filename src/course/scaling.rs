//! What more GPUs give: efficiency, communication, sharding.
