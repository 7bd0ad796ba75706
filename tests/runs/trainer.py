from trl import SFTConfig, SFTTrainer

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-8B", quantization_config=BitsAndBytesConfig(load_in_4bit=True))
peft_config = LoraConfig(r=32, lora_alpha=16, target_modules="all-linear")
args = SFTConfig(output_dir="out", max_length=4096, per_device_train_batch_size=2, bf16=True)
