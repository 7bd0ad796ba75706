//! Networks whose parameters are published, as texts. The page has a button for each of them.

/// ResNet-50 for ImageNet: 25 557 032 parameters (He et al. 2016, arXiv:1512.03385, table 1, with the
/// stride on the 3 × 3 convolution; torchvision 0.29 `resnet50`).
pub const RESNET_50: &str = "\
input 3 224 224
conv 64 7x7 /2 pad 3 nobias norm relu
pool max 3x3 /2 pad 1
block 64 256 x3
block 128 512 /2
block 128 512 x3
block 256 1024 /2
block 256 1024 x5
block 512 2048 /2
block 512 2048 x2
pool global
flatten
dense 1000";

/// VGG-16: 138 357 544 parameters (Simonyan and Zisserman 2015, arXiv:1409.1556, table 1, column D;
/// torchvision 0.29 `vgg16`, whose adaptive pooling to 7 × 7 is a mean over windows of one at this size).
pub const VGG_16: &str = "\
input 3 224 224
conv 64 3x3 pad 1 relu x2
pool max 2x2 /2
conv 128 3x3 pad 1 relu x2
pool max 2x2 /2
conv 256 3x3 pad 1 relu x3
pool max 2x2 /2
conv 512 3x3 pad 1 relu x3
pool max 2x2 /2
conv 512 3x3 pad 1 relu x3
pool max 2x2 /2
pool avg 1x1
flatten
dense 4096 relu dropout x2
dense 1000";

/// A dense network for 28 × 28 digits: 20 037 642 parameters, which is
/// 784·4096 + 4096 + 4096² + 4096 + 4096·10 + 10.
pub const DENSE: &str = "\
input 784
dense 4096 relu x2
dense 10";

/// L = 12 equal layers of H = 1024 neurons, for which the sum over layers is B·L·H.
pub const EQUAL_LAYERS: &str = "\
input 1024
dense 1024 relu x12";

/// One matrix product on rows: 512 rows of 1024 features become 512 rows of 4096.
pub const ROWS: &str = "\
input 512 1024
dense 4096";
