#!/usr/bin/env python3
"""Write tiny GGUF files with llama.cpp's own converter and quantizer, and beside each what transformers computes from the same weights.

    make_gguf_cases.py --converter DIR/convert_hf_to_gguf.py --tokenizer DIR --out DIR [--only NAME...]

Needs transformers, gguf (gguf-py), llama-quantize and llama-gguf-split. NAME.gguf has no tokenizer unless the case names one; then it is
the one of --tokenizer, a folder with a byte-level tokenizer.json. NAME.expected.safetensors and NAME.expected.json are read by
`attnscope-dev check NAME.gguf`. Weights are drawn so that half precision holds them. Of a quantized file transformers gets the numbers that
gguf-py makes of its blocks. blocks.safetensors holds random blocks of every kind and what gguf-py makes of them.
"""
import argparse, importlib.util, json, os, subprocess, sys, tempfile, warnings
os.environ.update(HF_HUB_OFFLINE="1", NO_LOCAL_GGUF="1", TOKENIZERS_PARALLELISM="false")
import numpy as np, torch, transformers, gguf
from safetensors.torch import save_file
warnings.filterwarnings("ignore"), transformers.logging.set_verbosity_error(), transformers.logging.disable_progress_bar()

V, T = 48, 9


def llama(**more):
    return dict(vocab_size=V, hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2,
                rms_norm_eps=1e-5, max_position_embeddings=64, tie_word_embeddings=False, pad_token_id=0, bos_token_id=1, eos_token_id=2) | more


def rope(theta=500.0, **more): return {"rope_type": "default", "rope_theta": theta, **more}


def cases():
    """name -> (class, config, options)"""
    gemma = lambda **more: llama(head_dim=10, hidden_activation="gelu_pytorch_tanh", tie_word_embeddings=True, rope_parameters=rope(10000.0)) | more  # which is not written down
    bert = dict(vocab_size=V, hidden_size=32, num_attention_heads=4, num_hidden_layers=1, intermediate_size=48, max_position_embeddings=32)
    t5 = dict(vocab_size=V, d_model=32, d_kv=4, num_heads=4, num_layers=2, num_decoder_layers=1, d_ff=32, relative_attention_num_buckets=8,
              decoder_start_token_id=0)
    falcon = dict(vocab_size=V, hidden_size=32, num_attention_heads=4, num_hidden_layers=1, ffn_hidden_size=128, bias=False, alibi=False)
    return {
        "gpt2": ("GPT2LMHeadModel", dict(vocab_size=V, n_embd=32, n_head=4, n_layer=1, n_positions=32, n_ctx=32), {}),
        "gptneox": ("GPTNeoXForCausalLM", dict(vocab_size=V, hidden_size=32, num_attention_heads=4, num_hidden_layers=1, intermediate_size=48, max_position_embeddings=64,
                    rotary_pct=0.5, rope_parameters=rope(10000.0, partial_rotary_factor=0.5)), {}),
        "llama": ("LlamaForCausalLM", llama(rope_parameters=rope()), {}),
        "llama_biased": ("LlamaForCausalLM", llama(attention_bias=True, mlp_bias=True, tie_word_embeddings=True, rope_parameters=rope()), {"vocab": True}),
        "llama3": ("LlamaForCausalLM", llama(rope_parameters=rope(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=24)), {}),
        "llama_linear": ("LlamaForCausalLM", llama(rope_parameters=rope(rope_type="linear", factor=4.0)), {"split": True}),
        "qwen2": ("Qwen2ForCausalLM", llama(tie_word_embeddings=True, rope_parameters=rope()), {}),
        "qwen2_yarn": ("Qwen2ForCausalLM", llama(rope_parameters=rope(rope_type="yarn", factor=4.0, original_max_position_embeddings=16)), {}),
        "qwen3": ("Qwen3ForCausalLM", llama(head_dim=12, rope_parameters=rope()), {"bf16": True}),
        "smollm3": ("SmolLM3ForCausalLM", llama(num_hidden_layers=4, intermediate_size=16, no_rope_layers=[1, 1, 1, 0], tie_word_embeddings=True, rope_parameters=rope()), {}),
        "olmo2": ("Olmo2ForCausalLM", llama(rope_parameters=rope()), {}),
        "gemma": ("GemmaForCausalLM", gemma(), {}),
        "gemma2": ("Gemma2ForCausalLM", gemma(num_hidden_layers=2, sliding_window=5, query_pre_attn_scalar=10, attn_logit_softcapping=4.0, final_logit_softcapping=0.8), {}),
        "gemma3": ("Gemma3ForCausalLM", gemma(vocab_size=32, head_dim=6, num_hidden_layers=6, intermediate_size=16, sliding_window=5, query_pre_attn_scalar=6, layer_types=["sliding_attention"] * 5 + ["full_attention"])
                   | dict(rope_parameters={"full_attention": rope(5000.0, rope_type="linear", factor=4.0), "sliding_attention": rope()}), {}),
        "phi2": ("PhiForCausalLM", {k: v for k, v in llama(num_key_value_heads=4, intermediate_size=128, layer_norm_eps=1e-5, rope_parameters=rope(10000.0, partial_rotary_factor=0.5)).items() if k != "rms_norm_eps"}, {}),
        "phi3": ("Phi3ForCausalLM", llama(sliding_window=5, original_max_position_embeddings=64, rope_parameters=rope()), {}),
        "phi3_long": ("Phi3ForCausalLM", llama(sliding_window=None, original_max_position_embeddings=8, rope_parameters=rope(rope_type="longrope", original_max_position_embeddings=8,
                      short_factor=[1.0 + 0.1 * i for i in range(4)], long_factor=[1.5 + 0.7 * i for i in range(4)])), {}),
        "falcon": ("FalconForCausalLM", falcon | dict(multi_query=True, new_decoder_architecture=False, num_kv_heads=1, parallel_attn=True, rope_parameters=rope(10000.0)), {}),
        "falcon_grouped": ("FalconForCausalLM", falcon | dict(new_decoder_architecture=True, num_kv_heads=2, rope_parameters=rope(10000.0)), {}),
        "bloom": ("BloomForCausalLM", dict(vocab_size=V, hidden_size=32, n_head=4, n_layer=1), {}),
        "bert": ("BertModel", bert, {}),
        "t5": ("T5ForConditionalGeneration", t5, {}),
        "t5_gated": ("T5ForConditionalGeneration", t5 | dict(feed_forward_proj="gated-gelu", tie_word_embeddings=False), {}),
        "llama_q8_0": ("LlamaForCausalLM", llama(intermediate_size=64, rope_parameters=rope()), {"quantize": "Q8_0"}),
        "llama_q4_0": ("LlamaForCausalLM", llama(intermediate_size=64, rope_parameters=rope()), {"quantize": "Q4_0"}),
        "llama_q4_k": ("LlamaForCausalLM", llama(hidden_size=256, head_dim=16, intermediate_size=32, rope_parameters=rope()), {"quantize": "Q4_K_M"}),
        "gemma3_ollama": ("Gemma3ForCausalLM", gemma(vocab_size=32, head_dim=6, num_hidden_layers=6, intermediate_size=16, sliding_window=5, query_pre_attn_scalar=6, rms_norm_eps=1e-6,
                          max_position_embeddings=131072, layer_types=["sliding_attention"] * 5 + ["full_attention"])
                          | dict(rope_parameters={"full_attention": rope(1e6, rope_type="linear", factor=8.0), "sliding_attention": rope(1e4)}), {"ollama": True}),
    }


def initialise(model, seed):
    """Random weights that make attention uneven and every bias and norm matter, each a number of half precision."""
    g = torch.Generator().manual_seed(seed)
    gemma = "Gemma" in type(model).__name__
    for name, p in model.named_parameters():
        r = torch.randn(p.shape, generator=g)
        if p.dim() == 1: r = 0.2 * r + (1.0 if name.endswith("weight") and not gemma else 0.0)
        elif any(word in name for word in ("embed", "wte", "wpe", "shared", "relative_attention_bias")): r = 0.4 * r
        else: r = 1.4 * r / p.shape[-1] ** 0.5
        p.data = r.half().bfloat16().float() if p.dim() > 1 else r.bfloat16().float()


def forward(model, ids):
    with torch.no_grad():
        if model.config.is_encoder_decoder:
            inputs = {"input_ids": ids, "decoder_input_ids": torch.cat([torch.zeros_like(ids[:, :1]), ids[:, :7] // 2 + 3], 1)}
            out = model(**inputs, output_hidden_states=True, output_attentions=True, use_cache=False)
            t = {"logits": out.logits}
            for stack, hidden, weights in (("encoder", out.encoder_hidden_states, out.encoder_attentions), ("decoder", out.decoder_hidden_states, out.decoder_attentions)):
                t.update({f"{stack}.hidden.{i}": h for i, h in enumerate(hidden)} | {f"{stack}.attn.{i}.weights": w for i, w in enumerate(weights)})
        else:
            inputs = {"input_ids": ids}
            out = model(**inputs, output_hidden_states=True, output_attentions=True, **({} if model.config.model_type in ("bert", "distilbert") else {"use_cache": False}))
            t = {"logits": out.logits} if "logits" in out else {"last_hidden_state": out.last_hidden_state}
            t.update({f"hidden.{i}": h for i, h in enumerate(out.hidden_states)} | {f"attn.{i}.weights": w for i, w in enumerate(out.attentions)})
    # Of several layers the first and the last: what a layer in between makes is seen in these.
    numbers = [int(p) for k in t for p in k.split(".") if p.isdigit()]
    t = {k: v for k, v in t.items() if not k.split(".")[-1].isdigit() or int(k.split(".")[-1]) in (0, max(numbers))}
    return inputs, {k: v.detach().clone().contiguous() for k, v in t.items()}


def converter(path):
    spec = importlib.util.spec_from_file_location("convert_hf_to_gguf", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def convert(module, folder, out, options):
    """As the program would, but for the vocabulary, whose kind it knows by fingerprints of published ones."""
    from conversion import base
    import logging
    logging.disable(logging.INFO)
    base.TextModel.get_vocab_base_pre = lambda self, tokenizer: "gpt-2"
    # Read through transformers 5, GPT-NeoX's config.json has lost what the converter looks for.
    base.ModelBase.load_hparams = staticmethod(lambda folder, is_mistral_format=False: json.load(open(f"{folder}/config.json")))
    def without_vocabulary(name, **more):
        kind = get_model_class(name, **more)
        kind.set_vocab = (lambda self: self._set_vocab_gpt2()) if options.get("vocab") else (lambda self: self.gguf_writer.add_tokenizer_model("no_vocab"))
        return kind
    get_model_class, module.get_model_class = module.get_model_class, without_vocabulary
    sys.argv = ["convert", folder, "--outfile", out, "--outtype", "f32" if "quantize" in options else "bf16" if options.get("bf16") else "f16"]
    try: module.main()
    finally: module.get_model_class = get_model_class


def as_ollama(path):
    """Rewrites a Gemma 3 file as Ollama's converter makes it of the models that see pictures: fewer keys, and the other part in the same file."""
    reader = gguf.GGUFReader(path)
    writer = gguf.GGUFWriter(path + ".new", "gemma3")
    dropped = ("rope.", "layer_norm_rms_epsilon", "sliding_window_pattern", "general.architecture", "GGUF.")
    for key, field in reader.fields.items():
        if any(part in key for part in dropped): continue
        writer.add_key_value(key, field.contents(), field.types[0], **({"sub_type": field.types[-1]} if len(field.types) > 1 else {}))
    writer.add_uint32("gemma3.mm.tokens_per_image", 256)
    for tensor in reader.tensors: writer.add_tensor(tensor.name, np.array(tensor.data))
    for name in ("v.patch_embedding.weight", "mm.mm_input_projection.weight"): writer.add_tensor(name, np.ones((4, 8), np.float16))
    writer.write_header_to_file(), writer.write_kv_data_to_file(), writer.write_tensors_to_file(), writer.close()
    os.replace(path + ".new", path)


def load_quantized(model, path):
    """What gguf-py makes of a Llama's blocks, in transformers' order of rows."""
    names = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head", "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
             "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj",
             "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}
    state, types = model.state_dict(), {}
    for tensor in gguf.GGUFReader(path).tensors:
        data = np.array(gguf.quants.dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)
        part = tensor.name.removesuffix(".weight").split(".")
        ours = names[part[-1]] + ".weight"
        if part[0] == "blk": ours = f"model.layers.{part[1]}.{ours}"
        if part[-1] in ("attn_q", "attn_k"):
            heads = model.config.num_attention_heads if part[-1] == "attn_q" else model.config.num_key_value_heads
            data = data.reshape(heads, -1, 2, data.shape[-1]).swapaxes(1, 2).reshape(data.shape)
        state[ours] = torch.from_numpy(np.ascontiguousarray(data)).reshape(state[ours].shape)
        types[tensor.name] = tensor.tensor_type.name
    model.load_state_dict(state)
    return types


def write_case(module, tokenizer, out, name, spec, seed):
    cls, config, options = spec
    cls = getattr(transformers, cls)
    if options.get("vocab"): config = config | {"vocab_size": len(transformers.AutoTokenizer.from_pretrained(tokenizer))}
    path = f"{out}/{name}.gguf"
    model = cls._from_config(cls.config_class(**config), attn_implementation="eager").eval()
    if name == "t5_gated": model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.clone())
    initialise(model, seed)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        written = json.load(open(folder + "/config.json"))
        for key in ("n_ctx", "rotary_pct"): written.update({key: config[key]} if key in config else {})
        json.dump(written, open(folder + "/config.json", "w"))
        for file in ("tokenizer.json", "tokenizer_config.json"):  # Gemma 3 looks how many words there are in any case
            open(f"{folder}/{file}", "w").write(open(f"{tokenizer}/{file}").read())
        plain = f"{folder}/plain.gguf"
        convert(module, folder, plain if "quantize" in options else path, options)
        if "quantize" in options:
            subprocess.run(["llama-quantize", plain, path, options["quantize"], "1"], check=True, capture_output=True)
            print("   ", load_quantized(model, path))
        if options.get("ollama"): as_ollama(path)
        if options.get("split"):
            subprocess.run(["llama-gguf-split", "--split", "--split-max-tensors", "5", path, path.removesuffix(".gguf")], check=True, capture_output=True)
            os.remove(path)
    ids = torch.randint(3, model.config.vocab_size, (1, T), generator=torch.Generator().manual_seed(seed))
    inputs, values = forward(model, ids)
    kinds = {}
    for key, value in values.items():
        kind = ".".join(p for p in key.split(".") if not p.isdigit() and p not in ("encoder", "decoder"))
        kinds[kind] = max(kinds.get(kind, 1.0), value.abs().max().item())
    stem = f"{out}/{name}" + ("-00001-of-%05d" % len([f for f in os.listdir(out) if f.startswith(name + "-0") and f.endswith(".gguf")]) if options.get("split") else "")
    save_file({f"one.{k}": v.contiguous() for k, v in (inputs | values).items()}, stem + ".expected.safetensors")
    json.dump({"source": f"transformers {transformers.__version__}, PyTorch {torch.__version__}, gguf", "class": cls.__name__,
               "errors": {kind: {"largest": largest, "tolerance": 2e-6 * max(10.0, largest)} for kind, largest in kinds.items()}}, open(stem + ".expected.json", "w"), indent=1)
    print(name, sum(os.path.getsize(f"{out}/{f}") for f in os.listdir(out) if f.startswith(name + ".") or f.startswith(name + "-0")), flush=True)


def write_blocks(out):
    """Bytes at random but for the scales, which are numbers; one block's are the largest and least there are."""
    random, tensors = np.random.default_rng(5), {}
    for name, halves in {"Q4_0": (0,), "Q4_1": (0, 2), "Q5_0": (0,), "Q5_1": (0, 2), "Q8_0": (0,), "Q2_K": (80, 82), "Q3_K": (108,), "Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,)}.items():
        kind = gguf.GGMLQuantizationType[name]
        count, size = gguf.GGML_QUANT_SIZES[kind]
        blocks = random.integers(0, 256, (6, size), dtype=np.uint8)
        for row, scale in enumerate((0.013, -0.4, 65504.0, 6e-8, 0.0, 1.0)):
            for at in halves: blocks[row, at:at + 2] = np.array([scale * (1 if at == halves[0] else 0.37)], dtype=np.float16).view(np.uint8)
        tensors[name + ".blocks"] = torch.from_numpy(blocks)
        tensors[name + ".numbers"] = torch.from_numpy(np.array(gguf.quants.dequantize(blocks, kind), dtype=np.float32))
    save_file(tensors, out + "/blocks.safetensors")


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--converter", required=True), a.add_argument("--tokenizer", required=True), a.add_argument("--out", required=True), a.add_argument("--only", nargs="*")
    a = a.parse_args()
    torch.set_num_threads(1)
    module = converter(a.converter)
    for seed, (name, spec) in enumerate(cases().items()):
        if not a.only or name in a.only: write_case(module, a.tokenizer, a.out, name, spec, 700 + seed)
    if not a.only: write_blocks(a.out)


main()
