"""Writes drawn.json: settings as folders of transformers have them beside the vocabularies of the folders here, drawn at random, and the ids
that transformers' AutoTokenizer gives some texts then.

python make_folders.py . drawn.json   (transformers 5.12.1, tokenizers 0.23.1, sentencepiece with protobuf)
"""

import json
import os
import random
import shutil
import sys
import tempfile

from tokenizers import processors

# transformers 5.12 and tokenizers 0.23 do not agree on this name.
roberta_processing = processors.RobertaProcessing
processors.RobertaProcessing = lambda sep, cls, **options: roberta_processing(sep, cls, **options)

from transformers import AutoTokenizer  # noqa: E402

MERGES, WORDS, PIECES = ["vocab.json", "merges.txt"], ["vocab.txt"], ["tokenizer.model"]
# Folder, its vocabulary, model types and classes that read it.
VOCABULARIES = [
    ("gpt2_added", MERGES, ["gpt2", "gpt_neo", "phi", "opt", "qwen3"], ["GPT2Tokenizer", "CodeGenTokenizer"]),
    ("gpt2_added", MERGES, ["gpt_neox", "olmo2"], ["GPTNeoXTokenizer", "GPT2TokenizerFast"]),
    ("opt_files", MERGES, ["opt"], ["GPT2Tokenizer"]),
    ("qwen_files", MERGES, ["qwen2", "qwen3"], ["Qwen2Tokenizer", "Qwen2TokenizerFast"]),
    ("roberta_files", MERGES, ["roberta", "bart"], ["RobertaTokenizer", "BartTokenizer", "RobertaTokenizerFast"]),
    ("wp_bert_added", WORDS, ["bert", "distilbert"], ["BertTokenizer", "DistilBertTokenizerFast", "ElectraTokenizer"]),
    ("sp_llama_plain", PIECES, ["llama", "smollm3"], ["LlamaTokenizer", "LlamaTokenizerFast"]),
    ("sp_llama_plain", PIECES, ["gemma", "gemma3_text"], ["GemmaTokenizer", "GemmaTokenizerFast"]),
    ("sp_llama_plain", PIECES, ["mistral", "phi3", "llama"], ["PreTrainedTokenizerFast"]),
    ("sp_t5_spiece", ["spiece.model"], ["t5", "mt5"], ["T5Tokenizer", "T5TokenizerFast"]),
    ("sp_xlmr", ["sentencepiece.bpe.model"], ["xlm-roberta"], ["XLMRobertaTokenizer"]),
    ("sp_camembert", ["sentencepiece.bpe.model"], ["camembert"], ["CamembertTokenizer"]),
    ("../tokenizer_files/sentencepiece_bpe", PIECES, ["llama", "mistral", "gemma2"], ["LlamaTokenizer", "GemmaTokenizer"]),
    ("../tokenizer_files/sentencepiece_unigram_bytes", PIECES, ["t5", "xlm-roberta", "llama"], ["T5Tokenizer", "XLMRobertaTokenizer"]),
]
ROLES = ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"]
TOKENS = ["<s>", "</s>", "<pad>", "<mask>", "<|endoftext|>", "<extra>", "<|im_start|>", "[CITY]", "[X]", "the", "cat", "[CLS]", "[SEP]",
          "<extra_id_0>", "hello world", "  pad", "<new>", "\u00e9t\u00e9", "sat ", "THE", "<sep>"]
TEXTS = ["the cat sat", " Hello  World\n\n a\tb ", "<s>the</s> cat</s>sat", "<pad> cat <mask> the  <mask>x", " <extra> the<extra>cat<new>", "",
         " ", "a<|endoftext|> <|endoftext|>b<|im_start|>c", "na\u00efve caf\u00e9 \u65e5\u672c E\u0301T\u00c9 \u00e9t\u00e9", "[CITY] [X]x the [CLS] [SEP]",
         "12345 3/4 \u00bd don't I'LL", "<extra_id_0> the <extra_id_1>cat", "THE the  pad hello world sat  <sep> x", "\u2581the \u2581 \ufb01sh \uff21\uff22 \u200b x"]
OPTIONS = [("add_bos_token", 0.4), ("add_eos_token", 0.3), ("add_prefix_space", 0.3), ("legacy", 0.3), ("do_lower_case", 0.3),
           ("strip_accents", 0.2), ("tokenize_chinese_chars", 0.2), ("split_special_tokens", 0.1)]
draw = random.Random(58)


def chance(probability):
    return draw.random() < probability


def token_object(kind=None):
    token = {"content": draw.choice(TOKENS), **{flag: chance(0.3) for flag in ("lstrip", "rstrip", "normalized", "single_word")}}
    return token | ({"__type": "AddedToken"} if kind else {})


def token(kind=None):
    return draw.choice(TOKENS) if chance(0.7) else token_object(kind)


def tokenizer_config(classes):
    config = {"tokenizer_class": draw.choice(classes)} if chance(0.8) else {}
    config |= {role: token("AddedToken") for role in ROLES if role != "unk_token" and chance(0.2)}
    config |= {option: chance(0.5) for option, probability in OPTIONS if chance(probability)}
    if chance(0.2):
        config["additional_special_tokens"] = [token("AddedToken") for _ in range(draw.randint(0, 3))]
    elif chance(0.1):
        config["extra_special_tokens"] = {"image_token": draw.choice(TOKENS)}
    if chance(0.3):
        config["extra_ids"] = draw.randint(0, 4)
    if chance(0.3):
        config["added_tokens_decoder"] = {
            str(draw.choice([draw.randint(0, 40), draw.randint(280, 345)])): token_object() | {"special": chance(0.6)}
            for _ in range(draw.randint(0, 5))}
    return config


def settings(types, classes):
    files = {"config.json": {"model_type": draw.choice(types)}}
    if chance(0.9):
        files["tokenizer_config.json"] = tokenizer_config(classes)
    if chance(0.3):
        files["special_tokens_map.json"] = {role: token() for role in ROLES if role != "unk_token" and chance(0.3)}
        if chance(0.3):
            files["special_tokens_map.json"]["additional_special_tokens"] = [draw.choice(TOKENS) for _ in range(draw.randint(0, 3))]
    if chance(0.25):
        files["added_tokens.json"] = {draw.choice(TOKENS): draw.randint(280, 345) for _ in range(draw.randint(1, 4))}
    return files


def ids_of(source, vocabulary, files):
    with tempfile.TemporaryDirectory() as folder:
        for name in vocabulary:
            shutil.copy(os.path.join(source, name), folder)
        for name, content in files.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
                json.dump(content, out)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        return type(tokenizer).__name__, [tokenizer(text)["input_ids"] for text in TEXTS]


def main():
    root, out = sys.argv[1:]
    folders = []
    while len(folders) < 150:
        place, vocabulary, types, classes = draw.choice(VOCABULARIES)
        files = settings(types, classes)
        try:
            name, ids = ids_of(os.path.join(root, place), vocabulary, files)
        except Exception:  # what transformers cannot read either
            continue
        folders.append({"from": place, "vocabulary": vocabulary, "files": files, "class": name, "ids": ids})
    with open(out, "w", encoding="utf-8") as file:
        lines = ",\n".join(json.dumps(folder, separators=(",", ":")) for folder in folders)
        file.write('{"texts": ' + json.dumps(TEXTS) + ',\n"folders": [\n' + lines + "\n]}\n")


main()
