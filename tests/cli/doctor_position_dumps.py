"""Writes dumps of attention with positions, cached keys and shared heads: right ones and such with one mistake each, by NumPy alone.

    doctor_position_dumps.py FOLDER SEED COUNT

Every dump draws its shape, its positions (none, ALiBi or rotary, in the file or not), its mask, the tensors that are written, their
names, number format and container. FOLDER/expected.txt has one line "FILE BUG..." for each, as doctor_dumps.py writes it.
"""
import sys

import numpy as np

from doctor_dumps import Format, save_safetensors, softmax

HIDDEN = {"weights": "q k v weights context".split(), "scores": "q k v scores weights".split(), "all": "q k v scores scaled masked weights context".split(),
          "qkw": "q k weights".split(), "joined": "q k v weights concat".split(), "masked": "q k masked weights".split()}
NAMED = [["q", "k", "v", "q_rotated", "k_rotated", "weights", "context"], ["q", "k", "q_rotated", "k_rotated", "scores"],
         ["q", "k", "v", "q_rotated", "k_rotated", "v_rotated", "weights", "context"], ["q", "k", "q_rotated", "k_rotated"]]
PROJECTED = [["q_proj", "k_proj", "v_proj", "q", "k", "v", "weights", "context"], ["q_proj", "k_proj", "v_proj", "q", "k", "v", "scores", "masked", "weights", "context", "concat"],
             ["q_proj", "k_proj", "q", "k", "weights"], ["q_proj", "k_proj", "v_proj", "weights", "concat"], ["q_proj", "k_proj", "v_proj", "q", "k", "v"]]
ALIASES = [{}, {}, {"q": "query_states", "k": "key_states", "v": "value_states", "weights": "attn_weights", "context": "attn_output",
                    "q_rotated": "query_rot", "k_rotated": "key_rot"},
           {"q": "query", "k": "key", "v": "value", "weights": "attention_probs", "q_rotated": "q_rot", "k_rotated": "k_rot", "v_rotated": "v_rot"}]


def slopes(heads):
    below = 2 ** int(np.log2(heads))
    first = [2 ** (-8 * i / below) for i in range(1, below + 1)]
    return np.array(first + [2 ** (-4 * (2 * i - 1) / below) for i in range(1, heads - below + 1)])


def rotate(x, positions, base, width, halves, frequencies_of):
    """The first `width` dimensions turn, i together with i + width/2, or 2i with 2i + 1; the others stay."""
    half = width // 2
    angle = positions[:, None] * base ** (-2 * np.arange(half) / frequencies_of)
    first, second = (slice(0, half), slice(half, width)) if halves else (slice(0, width, 2), slice(1, width, 2))
    out = x.copy()
    a, b = x[..., first], x[..., second]
    out[..., first], out[..., second] = a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)
    return out


def split(x, heads):
    b, t, c = x.shape
    return x.reshape(b, t, heads, c // heads).transpose(0, 2, 1, 3)


def attention(case, bug):
    rng, form = np.random.default_rng(case["seed"]), case["format"]
    B, H, G, T, S, D = (case[letter] for letter in "BHGTSD")
    out = {"q_proj": form.round(rng.standard_normal((B, T, H * D)))}
    for name in ("k_proj", "v_proj"):
        out[name] = form.round(rng.standard_normal((B, S, G * D)))
    plain = {"q": split(out["q_proj"], H), "k": split(out["k_proj"], G), "v": split(out["v_proj"], G)}
    turned = dict(plain)
    if case["rope"]:
        first = case["first"]
        shift = case["shift"] if bug == "position_offset" else 0
        width = D if bug == "rotated_fully" else case["width"]
        how = (10000.0 if bug == "other_base" else case["base"], width,
               case["halves"] != (bug == "other_pairs"), D if bug == "frequencies_of_all" else width)
        if bug == "not_rotated":
            how = (case["base"], 0, True, 1)
        turned["q"] = form.stage(rotate(plain["q"], np.arange(T) + first + S - T + shift, *how))
        turned["k"] = form.stage(rotate(plain["k"], np.arange(S) + first, *how))
        if bug == "rope_on_values":
            turned["v"] = form.stage(rotate(plain["v"], np.arange(S) + first, *how))
    def share(x):
        return np.tile(x, (1, H // G, 1, 1)) if bug == "gqa_tiled" else np.repeat(x, H // G, 1)
    full = {"q": turned["q"], "k": share(turned["k"]), "v": share(turned["v"])}
    for name in "qkv":
        if case["rope"] == "projected" or not case["rope"]:
            out[name] = full[name] if case["repeated"] else turned[name]
        else:
            out[name] = plain[name]
            out[name + "_rotated"] = full[name] if case["repeated"] else turned[name]
    t, s = np.arange(T)[:, None], np.arange(S)[None, :]
    meant = np.broadcast_to(s <= t + S - T if case["causal"] else np.ones((T, S), bool), (B, 1, T, S))
    if case["lengths"] is not None:
        meant = meant & (s >= S - np.array(case["lengths"])[:, None, None])[:, None]  # padding at the left, as in generation
    used = meant & (s <= t) if bug == "causal_offset" else meant
    distance = np.abs(t + S - T - s) if case["flat"] else t + S - T - s
    bias = -slopes(H)[:, None, None] * distance if case["alibi"] else np.zeros((H, 1, 1))
    bias = form.round(np.broadcast_to(bias * (-1 if bug == "alibi_sign" else 1), (B, H, T, S)))
    low = -np.inf if case["negative"] == "inf" else max(-1e9, form.lowest)
    with np.errstate(all="ignore"):
        out["scores"] = form.stage(full["q"] @ full["k"].swapaxes(2, 3) if bug != "qk_swapped" else full["k"] @ full["q"].swapaxes(2, 3))
        out["scaled"] = form.stage(out["scores"] / np.sqrt(D))
        out["masked"] = form.stage(np.where(used, out["scaled"] + bias, -low if bug == "mask_sign" else low))
        out["weights"] = form.stage(softmax(out["masked"], 1 if bug == "softmax_over_heads" else 3))
        out["context"] = form.stage(out["weights"] @ full["v"])
    out["concat"] = out["context"].transpose(0, 2, 1, 3).reshape(B, T, H * D)
    out["meant"], out["bias"] = meant, bias
    return {name: out[name] if name == "meant" else form.round(out[name]) for name in out}


def draw_case(rng):
    pick = lambda *values: values[rng.integers(len(values))]
    case = {"seed": int(rng.integers(1 << 31)), "B": pick(1, 1, 2), "H": pick(1, 2, 3, 4, 6, 8), "D": pick(2, 4, 8, 16, 32)}
    case["G"] = pick(*[g for g in (1, 2, 3, 4, 8) if case["H"] % g == 0]) if rng.random() < 0.5 else case["H"]
    case["S"] = pick(1, 2, 3, 5, 6, 9, 12, 17)
    case["T"] = case["S"] if rng.random() < 0.5 else int(rng.integers(1, case["S"] + 1))
    case["rope"] = pick("", "", "hidden", "named", "projected")
    case["alibi"] = not case["rope"] and bool(rng.random() < 0.6)
    case["flat"] = bool(rng.random() < 0.5)
    case["base"] = pick(10000.0, 10000.0, 500000.0, 1000000.0, 123.0)
    case["first"] = pick(0, 0, 0, 1, 7, 100)
    case["shift"] = pick(1, -1, 2, 5, case["T"] - case["S"] or 3)
    case["causal"] = bool(rng.random() < 0.7)
    case["flat"] = case["flat"] or not case["causal"]
    case["lengths"] = [int(rng.integers(1, case["S"] + 1)) for _ in range(case["B"])] if rng.random() < 0.2 and case["T"] == case["S"] else None
    case["format"] = Format(pick("f4", "f4", "f4", "f8", "f2", "bf16"), bool(rng.random() < 0.5))
    case["negative"] = pick("inf", "1e9")
    case["repeated"] = bool(rng.random() < 0.4)
    if case["rope"] == "named":
        case["stages"] = pick(*NAMED)
    elif case["rope"] == "projected" or rng.random() < 0.3:
        case["stages"] = pick(*PROJECTED)
    else:
        case["stages"] = HIDDEN[pick(*HIDDEN)]
    if case["rope"] == "hidden":
        case["repeated"] = False
    few = case["B"] * case["H"] * case["T"] * case["S"] < 32
    case["npz"] = bool(rng.random() < 0.3) and not (few and case["format"].name == "bf16")
    case["aliases"], case["prefix"] = pick(*ALIASES), pick("", "", "model.layers.3.self_attn.")
    case["bias_name"] = pick("mask", "mask", "attn_bias", "alibi", "")
    case["told"] = pick("metadata", "mask")
    draw_rotation(case)
    return case


def draw_rotation(case):
    """How many dimensions are rotated, in which pairs, and what the file says of it."""
    rng = np.random.default_rng(case["seed"] + 1)
    pick = lambda *values: values[rng.integers(len(values))]
    D = case["D"]
    case["width"] = pick(D, D, *[w for w in (D // 4, D // 2, D * 3 // 4) if w % 2 == 0 and w > 0])
    case["halves"] = bool(rng.random() < 0.7)
    # Without any tensor after the rotation, a part of the head can only be guessed, which takes some numbers.
    few = case["rope"] == "hidden" and min(case["lengths"] or [case["S"]]) * case["T"] * case["H"] < 64
    case["says_width"] = case["width"] != D and (few or bool(rng.random() < 0.5))
    case["as_part"], case["says_pairs"] = bool(rng.random() < 0.5), bool(rng.random() < 0.3)


def tensors_of(dump, case, bug):
    form, tensors, metadata = case["format"], {}, {}
    kind = "f4" if form.name == "bf16" and case["npz"] else form.name
    for name in case["stages"]:
        tensors[case["prefix"] + case["aliases"].get(name, name)] = (kind, dump[name])
    masked = case["causal"] or case["lengths"] is not None
    low = -np.inf if case["negative"] == "inf" else max(-1e9, form.lowest)
    if case["alibi"] and case["bias_name"] == "mask":
        tensors["mask"] = (kind, np.where(dump["meant"], dump["bias"], low))
    else:
        if case["alibi"] and case["bias_name"]:
            tensors[case["prefix"] + case["bias_name"]] = (kind, dump["bias"][:1])
        if case["causal"] and case["told"] == "metadata" and case["lengths"] is None:
            metadata["causal"] = "true"
        elif masked:
            tensors[case["prefix"] + ("mask" if case["bias_name"] != "mask" else "attention_mask")] = ("b1", dump["meant"])
            if case["causal"] and case["seed"] % 2:
                metadata["causal"] = "true"
    metadata["num_heads"] = str(case["H"])
    if case["rope"] and (case["base"] == 123.0 or case["seed"] % 3 == 0 or bug in ("other_base", "not_rotated")):
        metadata["rope_theta"] = str(case["base"])
    if case["rope"] and (case["says_width"] or bug in ("rotated_fully", "frequencies_of_all", "other_pairs")):
        metadata.update({"partial_rotary_factor": str(case["width"] / case["D"])} if case["as_part"] else {"rotary_dim": str(case["width"])})
    if case["rope"] and (case["says_pairs"] or bug == "other_pairs"):
        metadata["rotary_interleaved"] = "false" if case["halves"] else "true"
    return tensors, metadata


def possible(bug, case):
    has = lambda *names: all(name in case["stages"] for name in names)
    scores = "scores" in case["stages"] or "weights" in case["stages"] or "masked" in case["stages"]
    end = "context" in case["stages"] or "concat" in case["stages"]
    if bug == "alibi_sign":
        return case["alibi"] and case["S"] > 1 and scores and (case["bias_name"] or "weights" in case["stages"])
    if bug == "causal_offset":
        return case["causal"] and case["T"] < case["S"] and ("weights" in case["stages"] or "masked" in case["stages"])
    if bug == "qk_swapped":
        return case["T"] == case["S"] > 1 and scores
    if bug == "gqa_tiled":
        if case["rope"] == "hidden" and not case["repeated"]:
            return False
        seen = scores or (case["repeated"] and (has("k_proj", "k") or has("k", "k_rotated")))
        return 1 < case["G"] < case["H"] and seen
    if bug == "rope_on_values":
        if case["rope"] == "named" and has("v", "v_rotated"):
            return True
        if case["rope"] == "projected" and has("v_proj", "v"):
            return True
        return case["rope"] in ("hidden", "named", "projected") and end and (has("v") or has("v_proj"))
    if bug == "mask_sign":
        return case["causal"] and ("masked" in case["stages"] or ("weights" in case["stages"] and case["T"] > 1 and case["lengths"] is None and not (case["alibi"])))
    if bug == "softmax_over_heads":
        return case["H"] > 1 and "weights" in case["stages"] and (not case["alibi"] or case["bias_name"])
    if bug in ROTATIONS:
        seen = scores or has("q", "k", "q_rotated", "k_rotated") or has("q_proj", "k_proj", "q", "k")
        if bug == "not_rotated":
            return case["rope"] == "named" and case["S"] > 1
        if case["rope"] == "hidden" and case["T"] * case["S"] * case["H"] < 64:
            return False
        if bug == "other_base" and case["base"] == 10000.0:
            return False
        return bool(case["rope"]) and seen and (case["width"] < case["D"] or bug in ("other_base", "other_pairs"))
    if bug == "position_offset":
        return bool(case["rope"]) and (scores or has("q", "k", "q_rotated", "k_rotated") or has("q_proj", "k_proj", "q", "k"))
    return True


def same(a, b, case):
    tolerance = max(128 * case["format"].unit, 1e-5)
    for name in case["stages"]:
        x, y = (np.where(abs(z[name]) > 1000, np.sign(z[name]) * np.inf, z[name]) for z in (a, b))
        if x.shape != y.shape or not np.allclose(x, y, tolerance, tolerance, equal_nan=True):
            return False
    return True


# Rotations other than what the file says, all reported as "other"; tests/cli/doctor_test.cpp has the words for each.
ROTATIONS = "rotated_fully other_base other_pairs frequencies_of_all not_rotated".split()
BUGS = "alibi_sign causal_offset qk_swapped gqa_tiled rope_on_values mask_sign softmax_over_heads position_offset".split() + ROTATIONS


def main(folder, seed, count):
    rng, lines = np.random.default_rng(seed), []
    while len(lines) < count:
        case = draw_case(rng)
        bug = BUGS[rng.integers(len(BUGS))] if rng.random() < 0.6 else None
        if bug == "rope_on_values" and case["rope"] == "hidden" or not {"q", "k"} & set(case["stages"]):
            case["first"] = 0  # only the values would show it
        if bug is not None and not possible(bug, case):
            continue
        if case["lengths"] is not None and case["causal"] and bug == "mask_sign":
            continue
        with np.errstate(all="ignore"):
            right, dump = attention(dict(case), None), attention(case, bug)
        if any(np.isnan(right[n]).any() for n in case["stages"]):
            continue  # a row without any key
        expected = ["other" if bug in ROTATIONS else bug or "correct"]
        if bug is not None:
            # A bias of its own in the file may be all that is wrong.
            told = bug == "alibi_sign" and case["bias_name"]
            if same(dump, right, case) and not told:
                continue
            for other in BUGS:
                if other != bug and other not in ROTATIONS and possible(other, case) and same(dump, attention(case, other), case):
                    expected.append(other)
            if bug == "mask_sign" and "masked" not in case["stages"]:
                # An inverted mask that is added in double leaves the same, unless it leaves NaN.
                expected += ["inverted_mask"] + ["non_finite"] * (case["S"] > case["T"] or case["T"] < 4)
            if bug == "softmax_over_heads" and any(np.isnan(dump[n]).any() for n in case["stages"]):
                expected.append("non_finite")
        tensors, metadata = tensors_of(dump, case, bug)
        shape = "x".join(str(case[letter]) for letter in "BHGTSD")
        kind = case["rope"] or ("alibi" + case["bias_name"] if case["alibi"] else "plain")
        name = f"{len(lines):05d}_{bug}_{kind}_{'-'.join(case['stages'])[:40]}_{'causal' if case['causal'] else ''}{'padded' if case['lengths'] else ''}_{case['told']}_{shape}_{case['format'].name}"
        if case["npz"]:
            values = {key: np.array(value == "true" if value in ("true", "false") else float(value)) for key, value in metadata.items()}
            np.savez(f"{folder}/{name}.npz", **{key: np.asarray(array, kind) for key, (kind, array) in tensors.items()}, **values)
        else:
            save_safetensors(f"{folder}/{name}.safetensors", tensors, metadata)
        lines.append(f"{name}.{'npz' if case['npz'] else 'safetensors'} {' '.join(expected)}")
    with open(f"{folder}/expected.txt", "w") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    with np.errstate(all="ignore"):
        main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
