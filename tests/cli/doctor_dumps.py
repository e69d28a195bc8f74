"""Writes dumps of attention, right ones and such with one classic mistake each, computed by NumPy alone.

    doctor_dumps.py FOLDER SEED COUNT

Every dump draws its shape, mask (how it is given, and the number that stands for minus infinity), number format, choice of stages,
names and container. FOLDER/expected.txt has one line "FILE BUG..." for each: the mistakes whose numbers it cannot be told from,
"correct" among them or alone when nothing is wrong.
"""
import json
import struct
import sys

import numpy as np

BUGS = ("no_scale scale_d_model scaled_twice softmax_over_queries mask_after_softmax inverted_mask mask_missing causal_leaks_one "
        "causal_masks_self padding_on_queries heads_split_without_transpose heads_joined_without_transpose dropout_left_on kv_swapped "
        "non_finite qk_swapped softmax_over_heads mask_sign causal_offset").split()
CAP_BUGS = "softcap_missing softcap_before_scale softcap_after_mask".split()
MASK_BUGS = "inverted_mask mask_missing causal_leaks_one causal_masks_self padding_on_queries mask_sign causal_offset".split()
STAGES = {
    "full": "q_proj k_proj v_proj q k v scores scaled masked weights dropped context concat".split(),
    "usual": "q k v scores scaled masked weights context".split(),
    "weights": "q k v weights context".split(),
    "dropped": "q k v weights dropped context".split(),
    "scores": "q k v scores weights".split(),
    "context": "q k v context".split(),
    "qkw": "q k weights".split(),
    "alone": ["weights"],
    "joined": "q k v weights context concat".split(),
    "projected": "q_proj k_proj v_proj weights concat".split(),
    "split": "q_proj k_proj v_proj q k v weights".split(),
}
ALIASES = [
    {},
    {"q": "query_layer", "k": "key_layer", "v": "value_layer", "weights": "attention_probs", "context": "context_layer",
     "scores": "raw_scores", "q_proj": "mixed_query_layer", "k_proj": "mixed_key_layer", "v_proj": "mixed_value_layer"},
    {"q": "query_states", "k": "key_states", "v": "value_states", "weights": "attn_weights", "scores": "attn_scores"},
]


class Format:
    """Numbers rounded to a format at every stage, or computed in double and rounded when they are written."""

    def __init__(self, name, each_stage):
        self.name, self.each_stage = name, each_stage

    def round(self, x):
        x = np.asarray(x, np.float64)
        with np.errstate(all="ignore"):
            if self.name == "f2":
                return np.clip(x, -65504, 65504).astype("f2").astype("f8") if np.isfinite(x).all() else x.astype("f2").astype("f8")
            if self.name == "bf16":
                bits = x.astype("f4").view("u4").astype("u8")
                odd = ~np.isfinite(x.astype("f4"))
                out = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 << 16).astype("u4").view("f4").astype("f8")
                return np.where(odd, x, out)
            return x.astype(self.name).astype("f8")

    def stage(self, x):
        return self.round(x) if self.each_stage else np.asarray(x, np.float64)

    @property
    def unit(self):
        return {"f2": 2.0**-11, "bf16": 2.0**-8, "f4": 2.0**-24, "f8": 2.0**-53}[self.name]

    @property
    def lowest(self):
        return {"f2": -65504.0, "bf16": -3.3895e38, "f4": float(np.finfo("f4").min), "f8": float(np.finfo("f4").min)}[self.name]


def save_safetensors(path, tensors, metadata):
    names = {"f4": "F32", "f8": "F64", "f2": "F16", "b1": "BOOL", "i8": "I64", "bf16": "BF16"}
    header, blobs, at = {"__metadata__": metadata} if metadata else {}, [], 0
    size = {"f4": 4, "f8": 8, "f2": 2, "b1": 1, "i8": 8, "bf16": 2}
    for name, (kind, array) in sorted(tensors.items(), key=lambda item: -size[item[1][0]]):
        with np.errstate(all="ignore"):
            if kind == "bf16":
                data = (np.array(array, "f4", order="C").view("u4") >> 16).astype("u2").tobytes()
            else:
                data = np.array(array, kind, order="C").tobytes()
        header[name] = {"dtype": names[kind], "shape": list(array.shape), "data_offsets": [at, at + len(data)]}
        blobs.append(data)
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def softmax(x, axis):
    with np.errstate(all="ignore"):
        e = np.exp(x - x.max(axis, keepdims=True))
        return e / e.sum(axis, keepdims=True)


def split(x, heads, wrong):
    b, t, c = x.shape
    return x.reshape(b, heads, t, c // heads) if wrong else x.reshape(b, t, heads, c // heads).transpose(0, 2, 1, 3)


def join(x, wrong):
    b, h, t, d = x.shape
    return (x if wrong else x.transpose(0, 2, 1, 3)).reshape(b, t, h * d)


def permissions(bug, case):
    """What is meant [B,1,T,S], and what is used."""
    t, s = np.arange(case["T"])[:, None], np.arange(case["S"])[None, :]
    meant = np.ones((case["B"], 1, case["T"], case["S"]), bool)
    used = meant
    shift = {"causal_leaks_one": 1, "causal_masks_self": -1}.get(bug, 0)
    if case["causal"]:
        first = t
        t = t + case["offset"]
        meant, used = meant & (s <= t), used & (s <= (first if bug == "causal_offset" else t + shift))
    if case["window"]:
        meant, used = meant & (s > t - case["window"]), used & (s > t - case["window"])
    if case["lengths"] is not None:
        place = np.arange(case["S"]) if not case["left"] else np.arange(case["S"])[::-1]
        keys = (place[None, :] < np.array(case["lengths"])[:, None])[:, None, None, :]
        meant = meant & keys
        used = used & (keys.swapaxes(2, 3) if bug == "padding_on_queries" and case["T"] == case["S"] else keys)
    if bug == "inverted_mask":
        used = ~used
    if bug == "mask_missing":
        used = np.ones_like(used)
    if bug == "causal mask missing" and case["lengths"] is not None:
        used = np.broadcast_to(keys, used.shape)
    return meant, used


def attention(case, bug):
    """Every stage of one attention with the mistake in it; the same case draws the same numbers whatever the mistake is."""
    rng, form = np.random.default_rng(case["seed"]), case["format"]
    B, H, T, S, D = (case[letter] for letter in "BHTSD")
    out = {name: form.round(rng.standard_normal((B, n, H * D))) for name, n in (("q_proj", T), ("k_proj", S), ("v_proj", S))}
    kept, places = rng.random((B, H, T, S)) >= case["rate"], rng.integers(0, 1 << 30, 4)
    for name in "qkv":
        out[name] = np.array(split(out[name + "_proj"], H, bug == "heads_split_without_transpose"))
    if case["shared"] > 1:
        for name in "kv":
            out[name] = np.repeat(out[name][:, :: case["shared"]], case["shared"], 1)
    if bug == "non_finite" and case["odd_stage"] == "q":
        out["q"].flat[places[0] % out["q"].size] = np.nan
    q, k, v = out["q"], out["k"], out["v"]
    if bug == "kv_swapped":
        k, v = (k if case["swap"] == "context" else v), (v if case["swap"] == "scores" else k)
    bias = form.round(rng.standard_normal((B, H, T, S))) if case["bias"] else np.zeros((B, H, T, S))
    with np.errstate(all="ignore"):
        out["scores"] = form.stage(k @ q.swapaxes(2, 3) if bug == "qk_swapped" and T == S else q @ k.swapaxes(2, 3))
        if bug == "non_finite" and case["odd_stage"] == "scores":
            out["scores"].flat[places[1] % out["scores"].size] = np.inf
        factor = {"no_scale": 1, "scale_d_model": 1 / np.sqrt(H * D), "scaled_twice": 1 / D}.get(bug, 1 / np.sqrt(D))
        out["scaled"] = form.stage(out["scores"] * factor)
        cap = (lambda x: form.stage(case["softcap"] * np.tanh(x / case["softcap"]))) if case["softcap"] else lambda x: x
        if bug == "softcap_before_scale":
            out["scaled"] = form.stage(cap(out["scores"]) * factor)
        out["capped"] = out["scaled"] if bug in CAP_BUGS else cap(out["scaled"])
        meant, used = permissions(bug, case)
        low = {"inf": -np.inf, "1e9": max(-1e9, form.lowest), "finfo": form.lowest}[case["negative"]]
        if bug == "mask_after_softmax":
            out["masked"] = out["capped"]
            out["weights"] = form.stage(np.where(used, softmax(out["capped"], 3), 0))
        else:
            added = case["added"] and case["negative"] != "finfo"
            biased = out["capped"] + bias
            low = -low if bug == "mask_sign" else low
            out["masked"] = form.stage(biased + np.where(used, 0, low) if added else np.where(used, biased, low))
            if bug == "softcap_after_mask":
                out["masked"] = cap(out["masked"])
        if case["capped_as_scaled"]:
            out["scaled"] = out["capped"]
        if bug != "mask_after_softmax":
            out["weights"] = softmax(out["masked"], {"softmax_over_queries": 2, "softmax_over_heads": 1}.get(bug, 3))
            told_apart = bug != "mask_sign" or meant.all(3).any()
            if case["empty_rows_are_zero"] and bug != "non_finite" and told_apart:
                out["weights"] = np.nan_to_num(out["weights"], nan=0.0)
            out["weights"] = form.stage(out["weights"])
        rate = case["rate"] if bug in (None, "dropout_left_on") or "dropped" in case["stages"] else 0
        out["dropped"] = form.stage(np.where(kept, out["weights"] / (1 - rate), 0)) if rate > 0 else out["weights"]
        out["context"] = form.stage(out["dropped"] @ v)
        if bug == "dropout_left_on":
            late, early = ("weights", "dropped") if case["hidden"] else ("dropped", "weights")
            out[early] = out[late]
        out["concat"] = join(out["context"], bug == "heads_joined_without_transpose")
    out["meant"], out["bias"] = meant, bias
    return {name: out[name] if name == "meant" else form.round(out[name]) for name in out}


def enough(bug, case):
    """Whether the recorded stages and what is told of the mask are enough to see this mistake."""
    stages = case["stages"]
    has = lambda *names: all(name in stages for name in names)
    scores = (has("q") or has("q_proj")) and (has("k") or has("k_proj"))
    if bug in ("no_scale", "scale_d_model", "scaled_twice"):
        return scores
    if bug in CAP_BUGS:
        hidden = bug == "softcap_after_mask" and (case["told"] == "nothing" or permissions(None, case)[0].all())
        one_scale = bug == "softcap_before_scale" and case["D"] == 1  # 1/√D is 1
        return scores and case["softcap"] and not hidden and not one_scale and has("weights")
    if bug == "qk_swapped":
        return scores and case["T"] == case["S"]
    if bug == "softmax_over_heads":
        return case["H"] > 1 and (scores or not case["bias"])
    if bug == "causal_offset" and not (case["causal"] and case["T"] < case["S"] and case["offset"] > 0):
        return False
    if bug == "kv_swapped":
        return scores and (has("v") or has("v_proj"))
    if bug == "heads_split_without_transpose":
        return has("q_proj") and case["H"] != case["T"]  # else [B,H,T,D] cannot be told from [B,T,H,D]
    if bug == "heads_joined_without_transpose":
        return has("concat") and (has("v") or has("v_proj"))
    if bug == "dropout_left_on":
        if permissions(None, case)[0].sum() * case["H"] < 8:
            return False
        rows = np.minimum(permissions(None, case)[0].sum(3), case["S"]).max()
        return scores and (has("context") and has("v") and rows <= case["D"] and case["T"] > 2 if case["hidden"] else has("weights"))
    masked = case["causal"] or case["lengths"] is not None
    if case["bias"] and masked and (not has("weights") or (case["negative"] != "inf" and (case["format"].name == "f8" or not case["format"].each_stage))):
        return bug not in MASK_BUGS  # the mask holds no bias where it forbids
    if case["bias"] and bug == "mask_after_softmax" and (not scores or permissions(None, case)[0].all()):
        return False
    if (case["told"] == "nothing" or not masked) and bug in MASK_BUGS + ["mask_after_softmax"]:
        return False
    return True


def same(a, b, case):
    """Whether two dumps show the same numbers, to the digits of their format."""
    tolerance = max(64 * case["format"].unit, 1e-5)
    for name in case["stages"]:
        x, y = (np.where(abs(z[name]) > 1000, np.sign(z[name]) * np.inf, z[name]) for z in (a, b))
        if not np.allclose(x, y, tolerance, tolerance, equal_nan=True):
            return False
    return True


def has_odd_number(dump, case):
    return any(not np.isfinite(np.where((dump[n] < 0) & (n == "masked"), 0, dump[n])).all() for n in case["stages"])


def draw_case(rng):
    pick = lambda *values: values[rng.integers(len(values))]
    case = {"seed": int(rng.integers(1 << 31)), "B": pick(1, 1, 2, 3), "H": pick(1, 2, 3, 4, 8), "D": pick(1, 2, 3, 4, 8, 16)}
    case["T"] = pick(1, 2, 3, 4, 5, 6, 7, 9, 12)
    case["S"] = case["T"] if rng.random() < 0.7 else pick(1, 2, 4, 5, 8, 11)
    case["causal"] = bool(case["T"] <= case["S"] and rng.random() < 0.5)
    case["offset"] = pick(0, case["S"] - case["T"])
    case["window"] = int(pick(2, 3)) if case["causal"] and rng.random() < 0.15 else 0
    case["bias"] = bool(rng.random() < 0.1)
    case["lengths"], case["left"] = None, bool(rng.random() < 0.25)
    if case["S"] > 1 and rng.random() < 0.45:
        case["lengths"] = [int(rng.integers(1, case["S"] + 1)) for _ in range(case["B"])]
    case["format"] = Format(pick("f4", "f4", "f4", "f8", "f2", "bf16"), bool(rng.random() < 0.5))
    case["negative"], case["added"] = pick("inf", "1e9", "finfo"), bool(rng.random() < 0.5)
    case["empty_rows_are_zero"] = bool(rng.random() < 0.5)
    case["subset"] = pick(*STAGES)
    case["stages"] = STAGES[case["subset"]]
    case["rate"] = pick(0, 0.1, 0.3, 0.5) if "dropped" in case["stages"] else 0
    case["swap"] = pick("both", "scores", "context")
    case["hidden"] = bool(rng.random() < 0.3)
    case["shared"] = 2 if case["H"] % 2 == 0 and "q_proj" not in case["stages"] and rng.random() < 0.2 else 1
    case["layout"] = pick("BTHD", "HTD") if rng.random() < 0.2 and "q_proj" not in case["stages"] and "concat" not in case["stages"] else "BHTD"
    if (case["layout"] == "BTHD" and case["H"] in (case["T"], case["S"])) or (case["layout"] == "HTD" and (case["B"] > 1 or case["shared"] > 1)):
        case["layout"] = "BHTD"
    case["odd_stage"] = pick("q", "scores")
    case["aliases"] = pick(*ALIASES) if rng.random() < 0.4 else {}
    case["prefix"] = pick("", "", "layers.0.attention.", "encoder/layer_3/", "model.layers.11.self_attn.")
    # That a float32 file holds bfloat16 numbers can be seen only when they are many.
    few = case["format"].name == "bf16" and case["B"] * case["H"] * case["T"] * case["S"] < 32
    case["npz"] = bool(rng.random() < 0.3) and not few
    told = ["mask", "added", "integer"]
    if case["bias"]:
        told = ["added"]
    elif case["window"]:
        pass
    elif case["lengths"] is None:
        told += ["metadata", "nothing"]
    elif not case["causal"]:
        told += ["keys", "ignored keys"]
    case["told"] = pick(*told)
    if case["told"] == "metadata":
        case["offset"] = case["S"] - case["T"]  # what causal means with cached keys
    draw_softcap(case)
    return case


def draw_softcap(case):
    rng = np.random.default_rng(case["seed"] + 1)
    pick = lambda *values: values[rng.integers(len(values))]
    case["softcap"] = pick(2.0, 5.0, 50.0) if rng.random() < 0.2 and not case["bias"] else 0
    case["cap_bug"] = pick(None, *CAP_BUGS) if case["softcap"] else None
    case["capped_as_scaled"] = case["softcap"] and bool(rng.random() < 0.3)
    if case["softcap"] and "scaled" in case["stages"] and not case["capped_as_scaled"] and rng.random() < 0.5:
        case["stages"] = case["stages"] + ["capped"]
    # Without being told, the cap can be found in numbers that have enough digits.
    clear = case["format"].name in ("f4", "f8") and case["T"] >= 4 and case["S"] >= 4 and case["lengths"] is None
    seen = "weights" in case["stages"] and case["subset"] not in ("alone", "dropped") and case["rate"] == 0
    case["says_softcap"] = case["softcap"] and not (clear and seen and case["cap_bug"] is None and rng.random() < 0.7)


def tensors_of(dump, case, bug):
    """What is written: (kind, array) by name, and metadata."""
    form, meant, tensors, metadata = case["format"], dump["meant"], {}, {}
    kind = "f4" if form.name == "bf16" and case["npz"] else form.name
    for name in case["stages"]:
        array = dump[name]
        if name in "kv" and case["shared"] > 1:
            array = array[:, :: case["shared"]]
        if case["layout"] == "BTHD" and name in ("q", "k", "v", "context"):
            array = array.transpose(0, 2, 1, 3)
        if case["layout"] == "HTD":
            array = array[0]
        tensors[case["prefix"] + case["aliases"].get(name, name)] = (kind, array)
    masked = case["causal"] or case["lengths"] is not None
    small = meant[:1] if case["lengths"] is None else meant
    if masked and case["told"] == "mask":
        tensors[case["prefix"] + "mask"] = ("b1", small if case["seed"] % 2 else np.broadcast_to(small, (case["B"], case["H"]) + meant.shape[2:]))
    if masked and case["told"] == "integer":
        # Of two axes, Hugging Face's attention_mask is about tokens.
        tensors["attention_mask" if case["lengths"] else "mask"] = ("i8", small if case["lengths"] else small[0, 0])
    if (masked or case["bias"]) and case["told"] == "added":
        low = {"inf": -np.inf, "1e9": max(-1e9, form.lowest), "finfo": form.lowest}[case["negative"]]
        low = -low if bug == "mask_sign" and case["seed"] % 4 else low  # the mask as it was used, or as it was meant
        tensors[case["prefix"] + "mask"] = (kind, np.where(meant, dump["bias"], low) if case["bias"] else np.where(small, 0.0, low))
    if case["told"] == "keys":
        tensors["mask"] = ("b1", meant[:, :, :1])
    if case["told"] == "ignored keys":
        tensors[case["prefix"] + "key_padding_mask"] = ("b1", ~meant[:, 0, 0])
    if case["says_softcap"]:
        metadata["softcap"] = str(case["softcap"])
    if case["told"] == "metadata":
        metadata["causal"] = "true" if case["causal"] else "false"
    if case["seed"] % 3 or case["layout"] != "BHTD" or any(name.endswith("proj") for name in case["stages"]):
        metadata["num_heads"] = str(case["H"])
    return tensors, metadata


def main(folder, seed, count):
    rng, lines = np.random.default_rng(seed), []
    while len(lines) < count:
        case, bug = draw_case(rng), None
        if rng.random() < 0.65:
            bug = BUGS[rng.integers(len(BUGS))]
        if case["softcap"]:
            bug = case["cap_bug"]
            case["capped_as_scaled"] = case["capped_as_scaled"] and bug is None
        if bug == "dropout_left_on":
            case["rate"] = [0.1, 0.3, 0.5][rng.integers(3)]
        dump = attention(case, bug)
        if bug is not None and not enough(bug, case):
            continue
        if bug not in ("non_finite", "mask_sign") and has_odd_number(dump, case):
            if bug is None:
                continue  # a fully masked row became NaN
            expected = [bug, "non_finite"]
        else:
            expected = ["correct" if bug is None else bug]
        if bug is not None:
            other = dict(case, offset=case["S"] - case["T"] - case["offset"])
            if bug == "causal_offset":
                other = case
            if same(dump, attention(case, None), case) or same(dump, attention(other, None), case):
                continue
            if not dump["meant"].any(3).mean() > 0.5:
                continue  # most rows have nothing to attend to, and tell nothing
            expected += [b for b in BUGS + CAP_BUGS * bool(case["softcap"]) if b != bug and any(same(dump, attention(c, b), case) for c in (case, other))]
            if case["T"] == 1 and case["told"] == "metadata" and bug == "causal_masks_self":
                expected.append("correct")  # one key fewer is what padding looks like
            if bug == "mask_sign":
                # Where every row has something masked, an inverted mask may leave the same; NaN alone has many reasons.
                expected += ["inverted_mask"] * ("masked" not in case["stages"])
                odd = [n for n in case["stages"] if n != "masked" and np.isnan(dump[n]).any()]
                expected += ["non_finite"] * bool("masked" not in case["stages"] and odd and (case["T"] < 4 or np.isnan(dump[odd[0]]).all()))
            if same(dump, attention(case, "causal mask missing"), case):
                expected.append("mask_missing")
        tensors, metadata = tensors_of(dump, case, bug)
        shape = "x".join(str(case[letter]) for letter in "BHTSD")
        mask = ("causal" if case["causal"] else "") + ("padded" if case["lengths"] is not None else "")
        name = f"{len(lines):05d}_{bug}_{case['subset']}_{mask or 'open'}_{case['told'].replace(' ', '')}_{shape}_{case['format'].name}"
        if case["npz"]:
            arrays = {key: np.asarray(array, kind) for key, (kind, array) in tensors.items()}
            np.savez(f"{folder}/{name}.npz", **arrays, **{key: np.array(value == "true" if key == "causal" else float(value)) for key, value in metadata.items()})
        else:
            save_safetensors(f"{folder}/{name}.safetensors", tensors, metadata)
        lines.append(f"{name}.{'npz' if case['npz'] else 'safetensors'} {' '.join(expected)}")
    with open(f"{folder}/expected.txt", "w") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    with np.errstate(all="ignore"):
        main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
