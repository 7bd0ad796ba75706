//! Networks whose parameters are published, as texts. The page has a button for each of them.
//!
//! What is frozen beside a diffusion model: the parameters of transformers 5.23's `CLIPTextModel` (123 060 480),
//! of the same with its projection (123 650 304 and, for OpenCLIP ViT-bigG/14, 694 659 840), of the encoder of
//! T5 v1.1 XXL (4 762 310 656) and of diffusers 0.42's `AutoencoderKL` (83 653 863, with 16 channels 83 819 683),
//! each made from the published configuration. The VAE has 640 numbers a pixel alive at once while it encodes,
//! which is PyTorch's MemTracker on that network in 16 bits at 512 × 512 and 1024 × 1024.

/// A preset: its word in links, its name on the page, its list.
pub type Preset = (&'static str, &'static str, &'static str);

/// All presets, in the order of their buttons; the first is there at first.
pub static ALL: [Preset; 12] = [
    ("vgg-16", "VGG-16", VGG_16),
    ("resnet-50", "ResNet-50", RESNET_50),
    ("vit-b-16", "ViT-B/16", VIT_B_16),
    ("vit-l-16", "ViT-L/16", VIT_L_16),
    ("sd-1.5", "SD 1.5 U-Net", SD_15),
    ("sdxl", "SDXL U-Net", SDXL),
    ("sd3", "SD 3 medium", SD3),
    ("nnunet", "nnU-Net 3-D", NNUNET),
    ("yolov8m", "YOLOv8m", YOLO),
    ("dense", "784–4096–4096–10", DENSE),
    ("equal", "12 equal layers", EQUAL_LAYERS),
    ("rows", "One product on rows", ROWS),
];

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

/// ViT-B/16: 86 567 656 parameters (Dosovitskiy et al. 2021, arXiv:2010.11929, table 1; timm 1.0.31
/// `vit_base_patch16_224`).
pub const VIT_B_16: &str = "\
input 3 224 224
patch 16 768 token position
residual layernorm attention 12 add residual layernorm mlp 3072 add x12
layernorm first dense 1000";

/// ViT-L/16: 304 326 632 parameters (the same; timm 1.0.31 `vit_large_patch16_224`).
pub const VIT_L_16: &str = "\
input 3 224 224
patch 16 1024 token position
residual layernorm attention 16 add residual layernorm mlp 4096 add x24
layernorm first dense 1000";

/// The U-Net of Stable Diffusion 1.5: 859 520 964 parameters (Rombach et al. 2022, arXiv:2112.10752;
/// stable-diffusion-v1-5/stable-diffusion-v1-5, unet/config.json; diffusers 0.42 `UNet2DConditionModel`).
/// Frozen beside it: CLIP ViT-L/14's text encoder and the VAE.
pub const SD_15: &str = "\
input 4 64 64 /8 # latents of 512 x 512
context 77 768
frozen 123060480
frozen 83653863 167772160
time 320 1280
conv 320 3x3 pad 1 -> skip
resblock 320 transformer 8 -> skip x2
conv 320 3x3 /2 pad 1 -> skip
resblock 640 transformer 8 -> skip x2
conv 640 3x3 /2 pad 1 -> skip
resblock 1280 transformer 8 -> skip x2
conv 1280 3x3 /2 pad 1 -> skip
resblock 1280 -> skip x2
resblock 1280 transformer 8 resblock 1280
concat skip resblock 1280 x3
upsample conv 1280 3x3 pad 1
concat skip resblock 1280 transformer 8 x3
upsample conv 1280 3x3 pad 1
concat skip resblock 640 transformer 8 x3
upsample conv 640 3x3 pad 1
concat skip resblock 320 transformer 8 x3
groupnorm 32 silu conv 4 3x3 pad 1 mse";

/// The U-Net of SDXL: 2 567 463 684 parameters (Podell et al. 2023, arXiv:2307.01952, table 1;
/// stabilityai/stable-diffusion-xl-base-1.0, unet/config.json). Frozen beside it: CLIP ViT-L/14's and
/// OpenCLIP ViT-bigG/14's text encoders and the VAE.
pub const SDXL: &str = "\
input 4 128 128 /8 # latents of 1024 x 1024
context 77 2048
frozen 123060480
frozen 694659840
frozen 83653863 671088640
time 320 1280 2816
conv 320 3x3 pad 1 -> skip
resblock 320 -> skip x2
conv 320 3x3 /2 pad 1 -> skip
resblock 640 transformer 10 2 linear -> skip x2
conv 640 3x3 /2 pad 1 -> skip
resblock 1280 transformer 20 10 linear -> skip x2
resblock 1280 transformer 20 10 linear resblock 1280
concat skip resblock 1280 transformer 20 10 linear x3
upsample conv 1280 3x3 pad 1
concat skip resblock 640 transformer 10 2 linear x3
upsample conv 640 3x3 pad 1
concat skip resblock 320 x3
groupnorm 32 silu conv 4 3x3 pad 1 mse";

/// The diffusion transformer of Stable Diffusion 3 medium: 2 028 328 000 parameters (Esser et al. 2024,
/// arXiv:2403.03206; stabilityai/stable-diffusion-3-medium-diffusers, transformer/config.json; diffusers 0.42
/// `SD3Transformer2DModel`). Frozen beside it: two CLIP text encoders, that of T5-XXL and the VAE.
pub const SD3: &str = "\
input 16 128 128 /8 # latents of 1024 x 1024
context 154 4096
frozen 123650304
frozen 694659840
frozen 4762310656
frozen 83819683 671088640
patch 2 1536 position 36864 -> picture
time 256 1536 2048
from context dense 1536 -> text
from picture
joint 24 x23
joint 24 last
adanorm dense 64 unpatch 2 mse";

/// The plain 3-D U-Net of nnU-Net on patches of 128³, six stages, one channel and three classes, with an
/// output at every stage of the decoder (Isensee et al. 2021, doi:10.1038/s41592-020-01008-z;
/// dynamic-network-architectures 0.4.4 `PlainConvUNet`).
pub const NNUNET: &str = "\
input 1 128 128 128
conv 32 3x3x3 pad 1 instancenorm leaky x2
-> skip
conv 64 3x3x3 /2 pad 1 instancenorm leaky conv 64 3x3x3 pad 1 instancenorm leaky -> skip
conv 128 3x3x3 /2 pad 1 instancenorm leaky conv 128 3x3x3 pad 1 instancenorm leaky -> skip
conv 256 3x3x3 /2 pad 1 instancenorm leaky conv 256 3x3x3 pad 1 instancenorm leaky -> skip
conv 320 3x3x3 /2 pad 1 instancenorm leaky conv 320 3x3x3 pad 1 instancenorm leaky -> skip
conv 320 3x3x3 /2 pad 1 instancenorm leaky conv 320 3x3x3 pad 1 instancenorm leaky
deconv 320 2x2x2 /2 concat skip
conv 320 3x3x3 pad 1 instancenorm leaky x2
-> stage conv 3 crossentropy from stage
deconv 256 2x2x2 /2 concat skip
conv 256 3x3x3 pad 1 instancenorm leaky x2
-> stage conv 3 crossentropy from stage
deconv 128 2x2x2 /2 concat skip
conv 128 3x3x3 pad 1 instancenorm leaky x2
-> stage conv 3 crossentropy from stage
deconv 64 2x2x2 /2 concat skip
conv 64 3x3x3 pad 1 instancenorm leaky x2
-> stage conv 3 crossentropy from stage
deconv 32 2x2x2 /2 concat skip
conv 32 3x3x3 pad 1 instancenorm leaky x2
conv 3 crossentropy";

/// The detector YOLOv8m: 25 902 624 trained parameters (ultralytics 8.4.190, cfg/models/v8/yolov8.yaml,
/// scale m). What its loss keeps depends on the boxes and is not counted.
pub const YOLO: &str = "\
input 3 640 640
unit 48 3x3 /2
unit 96 3x3 /2 csp 96 2 shortcut
unit 192 3x3 /2 csp 192 4 shortcut -> p3
unit 384 3x3 /2 csp 384 4 shortcut -> p4
unit 576 3x3 /2 csp 576 2 shortcut pyramid 576 -> p5
upsample concat p4 csp 384 2 -> m4
upsample concat p3 csp 192 2 -> out3
unit 192 3x3 /2 concat m4 csp 384 2 -> out4
unit 384 3x3 /2 concat p5 csp 576 2 -> out5
from out3 unit 64 3x3 unit 64 3x3 conv 64 rows -> boxes
from out4 unit 64 3x3 unit 64 3x3 conv 64 rows -> boxes
from out5 unit 64 3x3 unit 64 3x3 conv 64 rows concat boxes concat boxes
from out3 unit 192 3x3 unit 192 3x3 conv 80 rows -> scores
from out4 unit 192 3x3 unit 192 3x3 conv 80 rows -> scores
from out5 unit 192 3x3 unit 192 3x3 conv 80 rows concat scores concat scores";
