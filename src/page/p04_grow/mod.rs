pub mod batch_slider;
