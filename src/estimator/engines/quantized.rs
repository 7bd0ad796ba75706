//! bitsandbytes' 4-bit matrices in the place of a model's linear layers.

use crate::estimator::models::Model;
use crate::estimator::operators::{Operator, Part, Place, Size, Tensor};

/// Quantizes every linear layer but the head (`get_keys_to_not_convert` in transformers/integrations/bitsandbytes.py,
/// 5.23.0, leaves it as it is).
pub fn quantize(model: &mut Model) {
    for application in model.blocks_mut().flat_map(|block| &mut block.applications) {
        if let Operator::Linear { product, .. } = &mut application.operator
            && application.place != Place::Head
        {
            *product = product.in_4_bits();
        }
    }
    // The code of the 8-bit scales, which all matrices share (`name2qmap` in bitsandbytes/functional.py).
    model.constants.push(Tensor { place: Place::Batch, part: Part::Code, size: Size::Bytes(256 * 4) });
}
