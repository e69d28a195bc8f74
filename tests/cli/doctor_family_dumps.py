"""Writes dumps of attention as published families compute it: right ones and such with one mistake each, by NumPy alone.

    doctor_family_dumps.py FOLDER SEED COUNT [KIND]

A dump is of one kind: "alibi" (BLOOM, Falcon, MPT), "t5" (a bias by bucket, no scaling), "sinks" (gpt-oss), "yarn" (a factor on cosines
and sines), "steps" (rotary positions rounded to 16 bits, which is a mistake), "floats" (masks of floating-point ones and zeros, which
PyTorch adds). Each draws its shape, mask, number format, the stages that are written, and whether the biases are. FOLDER/expected.txt has
one line "FILE BUG..." for each, as doctor_dumps.py writes it.
"""
import sys

import numpy as np

from doctor_dumps import Format, save_safetensors, softmax
from doctor_position_dumps import slopes

STAGES = ["q k v scores masked weights context", "q k v scores weights context", "q k scores weights", "q k v scores scaled masked weights",
          "q k v masked weights", "q k v weights context", "q k scores", "q k v scores scaled weights context", "q k scaled masked weights"]
BUGS = ("no_scale scaled_twice softmax_over_queries mask_missing causal_leaks_one causal_masks_self alibi_sign kv_swapped qk_swapped "
        "mask_after_softmax softmax_twice other").split()
EXPECTED_OF_STEPS = ["other"]


def pick_slopes(rng, heads):
    if rng.random() < 0.25:  # MPT's alibi_bias_max
        whole = 2 ** int(np.ceil(np.log2(heads)))
        all_of = 2.0 ** -(np.arange(1, whole + 1) * 16 / whole)
        return np.concatenate([all_of[1::2], all_of[::2]])[:heads] if whole != heads else all_of
    if rng.random() < 0.25:
        return 2.0 ** (-8 * np.arange(1, heads + 1) / heads)
    return slopes(heads)


def alibi_bias(case, rng):
    """[B,H,T,S] as the families write it, which only differ by a number per row up to the query's own position."""
    t, s = np.arange(case["T"])[:, None] + case["S"] - case["T"], np.arange(case["S"])[None, :]
    form = case["form"]
    if form == "padded key":  # BLOOM and Falcon count the keys that are no padding
        keys = case["keys"]
        steps = ((np.cumsum(keys, 1) - 1) * keys)[:, None, None, :]
    else:
        steps = {"distance": -abs(t - s), "signed": s - t, "past": np.minimum(s - t, 0), "key": s + 0 * t, "from last": s - case["S"] + 1 + 0 * t}[form]
        steps = steps[None, None]
    return np.broadcast_to(pick_slopes(rng, case["H"])[None, :, None, None] * steps, (case["B"], case["H"], case["T"], case["S"]))


def bucket_bias(case, rng):
    """T5's: the same for all large distances, and in a decoder for all later keys."""
    distance = np.arange(case["S"])[None, :] - np.arange(case["T"])[:, None] - (case["S"] - case["T"])
    size, both = 8, not case["causal"]
    past = np.where(distance < 0, -distance, 0) if not both else abs(distance)
    bucket = np.where(past < 4, past, np.minimum(4 + (np.log(np.maximum(past, 1) / 4) / np.log(8) * 4).astype(int), size - 1))
    bucket = bucket + size * (both & (distance > 0))
    table = rng.standard_normal((2 * size, case["H"])) * 2
    return np.broadcast_to(table[bucket].transpose(2, 0, 1)[None], (case["B"], case["H"], case["T"], case["S"]))


def rotated(x, angle, halves, factor):
    width = 2 * angle.shape[-1]
    first, second = (slice(0, width // 2), slice(width // 2, width)) if halves else (slice(0, width, 2), slice(1, width, 2))
    out, a, b = x.copy(), x[..., first], x[..., second]
    out[..., first] = factor * (a * np.cos(angle) - b * np.sin(angle))
    out[..., second] = factor * (b * np.cos(angle) + a * np.sin(angle))
    return out


def frequencies(case):
    half = case["width"] // 2
    plain = case["base"] ** (-np.arange(half) / half)
    if case["kind"] != "yarn" or case["plain"]:
        return plain
    ramp = np.clip((np.arange(half) - 1) / max(1, half - 2), 0, 1)  # the lowest frequencies are interpolated
    return plain * (1 - ramp) + plain / case["stretch"] * ramp


def positions(case, count, first):
    exact = first + np.arange(count, dtype="f8")
    if case["kind"] != "steps" or case["coarse"] is None:
        return exact
    return Format("bf16", False).round(exact) if case["coarse"] == "bf16" else exact.astype("f2").astype("f8")


def masks(case, bug):
    t, s = np.arange(case["T"])[:, None] + case["S"] - case["T"], np.arange(case["S"])[None, :]
    meant = np.broadcast_to(s <= t if case["causal"] else np.ones((case["T"], case["S"]), bool), (case["B"], 1, case["T"], case["S"]))
    used = meant
    if bug == "mask_missing":
        used = np.ones_like(meant)
    if bug in ("causal_leaks_one", "causal_masks_self"):
        used = np.broadcast_to(s <= t + (1 if bug == "causal_leaks_one" else -1), meant.shape)
    keys = case["keys"][:, None, None, :].astype(bool)
    return meant & keys, used & (keys if bug != "mask_missing" else True)


def attention(case, bug):
    rng, form = np.random.default_rng(case["seed"]), case["format"]
    B, H, G, T, S, D = (case[letter] for letter in "BHGTSD")
    out = {"q": form.round(rng.standard_normal((B, H, T, D)))}
    for name in "kv":
        out[name] = form.round(rng.standard_normal((B, G, S, D)))
    bias = np.zeros((B, H, T, S))
    if case["kind"] == "alibi":
        bias = alibi_bias(case, rng) * (-1 if bug == "alibi_sign" else 1)
    if case["kind"] == "t5":
        bias = bucket_bias(case, rng)
    if case["kind"] == "floats":
        bias = np.broadcast_to(rng.integers(0, 2, (B, 1, 1, S) if "key" in case["float_name"] else (1, 1, T, S)).astype("f8"), bias.shape)
    bias = form.round(bias)
    out["bias"] = bias
    q, k, v = out["q"], out["k"], out["v"]
    if case["kind"] in ("yarn", "steps"):
        first = case["first"]
        angles = [positions(case, n, first + at)[:, None] * frequencies(case) for n, at in ((T, S - T), (S, 0))]
        factor = case["factor"]
        q = out["q_rotated"] = form.stage(rotated(q, angles[0], case["halves"], factor))
        k = out["k_rotated"] = form.stage(rotated(k, angles[1], case["halves"], factor))
    k, v = np.repeat(k, H // G, 1), np.repeat(v, H // G, 1)
    if bug == "kv_swapped":
        k, v = v, k
    sinks = form.round(rng.standard_normal(H)) if case["kind"] == "sinks" else None
    scale = {"no_scale": 1, "scaled_twice": 1 / D}.get(bug, case["scale"])
    meant, used = masks(case, bug)
    low = -np.inf if case["negative"] == "inf" else max(-1e9, form.lowest)
    with np.errstate(all="ignore"):
        products = form.stage(q @ k.swapaxes(2, 3) if bug != "qk_swapped" else k @ q.swapaxes(2, 3))
        if case["added"] == "before":  # Falcon, and T5, which does not scale
            out["scores"] = products if case["early"] else form.stage(products + bias)
            out["scaled"] = form.stage((products + bias) * scale)
            masked = out["scaled"]
        elif case["added"] == "after":  # BLOOM
            out["scores"] = form.stage(products * scale + bias)
            out["scaled"] = masked = out["scores"]
        else:  # MPT
            out["scores"] = products
            out["scaled"] = form.stage(products * scale)
            masked = out["scaled"] + bias
        out["masked"] = form.stage(np.where(used, masked, low))
        logits = masked if bug == "mask_after_softmax" else out["masked"]
        if sinks is not None:
            out["sinks"] = sinks
            logits = np.concatenate([logits, np.broadcast_to(sinks[None, :, None, None], (B, H, T, 1))], 3)
        weights = softmax(logits, 2 if bug == "softmax_over_queries" else 3)
        weights = weights[..., :S]
        if bug == "softmax_twice":
            weights = softmax(weights, 3)
        if bug == "mask_after_softmax":
            weights = np.where(used, weights, 0)
        out["weights"] = form.stage(weights)
        out["context"] = form.stage(out["weights"] @ v)
    if bug == "other":
        last = case["stages"][-1]
        at = rng.integers(out[last].size)
        out[last] = np.array(out[last])
        flat = out[last].reshape(-1)
        if abs(flat[at]) < 1e8:
            flat[at] = flat[at] + 0.7
    out["meant"] = meant
    return {name: out[name] if name == "meant" else form.round(out[name]) for name in out}


def draw_case(rng, kind):
    pick = lambda *values: values[rng.integers(len(values))]
    case = {"seed": int(rng.integers(1 << 31)), "kind": kind, "B": pick(1, 1, 1, 2), "H": pick(1, 2, 3, 4, 5, 6, 7, 8, 12), "D": pick(2, 4, 8, 16)}
    case["G"] = pick(*[g for g in (1, 2, 3, 4) if case["H"] % g == 0]) if rng.random() < 0.25 else case["H"]
    case["S"] = pick(4, 5, 6, 7, 9, 12, 17)
    case["T"] = case["S"] if rng.random() < 0.75 else int(rng.integers(2, case["S"] + 1))
    case["causal"] = bool(rng.random() < 0.6)
    case["format"] = Format(pick("f4", "f4", "f4", "f8", "f2", "bf16"), bool(rng.random() < 0.5))
    case["negative"] = pick("inf", "1e9")
    case["stages"] = pick(*STAGES).split()
    case["scale"], case["says_scale"] = case["D"] ** -0.5, False
    case["keys"] = np.ones((case["B"], case["S"]), int)
    if rng.random() < 0.3 and case["T"] == case["S"]:
        for row in case["keys"]:
            gone = int(rng.integers(0, case["S"] // 2))
            row[:gone if (left := rng.random() < 0.5) else 0] = 0
            row[case["S"] if left else case["S"] - gone:] = 0
    padded = not case["keys"].all()
    case["added"], case["early"], case["says_bias"] = "last", False, bool(rng.random() < 0.5)
    if kind == "alibi":
        case["added"] = pick("before", "after", "last")
        case["early"] = case["added"] == "before" and bool(rng.random() < 0.5)
        case["form"] = pick("signed", "past", "key", "from last", "padded key", "distance") if case["causal"] else "distance"
    if kind == "t5":
        case["added"], case["scale"], case["says_scale"] = "before", 1.0, True
    case["told"] = "nothing"
    if case["causal"] or padded:
        case["told"] = pick("mask", "added") if padded or rng.random() < 0.6 else "metadata"
    case["base"], case["width"], case["halves"] = pick(10000.0, 500000.0), case["D"], bool(rng.random() < 0.7)
    if kind in ("yarn", "steps"):
        case["D"] = pick(8, 16, 32)
        case["scale"] = case["D"] ** -0.5
        case["width"] = pick(case["D"], case["D"], case["D"] // 2)
        case["stages"] = pick("q k v q_rotated k_rotated weights context", "q k q_rotated k_rotated scores", "q k v q_rotated k_rotated scores scaled masked weights",
                              "q k q_rotated k_rotated").split()
        case["factor"], case["first"] = 1.0, pick(0, 0, 3, 100)
        case["plain"], case["stretch"] = bool(rng.random() < 0.3), pick(2.0, 4.0, 16.0, 40.0)
    if kind == "yarn":
        case["factor"] = pick(0.1 * np.log(case["stretch"]) + 1, 1.1902380714238083, 1.5, 0.92)
    if kind == "steps":
        case["plain"] = True
        case["coarse"] = pick("bf16", "bf16", "f2")
        case["first"] = int(rng.integers(260, 3000)) if case["coarse"] == "bf16" else int(rng.integers(2049, 9000))
        case["format"] = Format(pick("f4", "f4", "f8", "f2", "bf16"), bool(rng.random() < 0.5))
    if kind == "floats":
        case["float_name"] = pick("attn_mask", "key_padding_mask", "src_key_padding_mask", "causal_mask")
        case["keys"][:] = 1
        case["told"], case["causal"] = "nothing", False
    return case


def tensors_of(dump, case):
    form, tensors, metadata = case["format"], {}, {}
    kind = form.name
    for name in case["stages"]:
        tensors[name] = (kind, dump[name])
    low = -np.inf if case["negative"] == "inf" else max(-1e9, form.lowest)
    if case["told"] == "metadata":
        metadata["causal"] = "true"
    elif case["told"] == "mask":
        tensors["mask"] = ("b1", dump["meant"])
    elif case["told"] == "added":
        tensors["attention_mask"] = (kind, np.where(dump["meant"], 0.0, low))
    if case["kind"] in ("alibi", "t5") and case["says_bias"]:
        tensors["alibi" if case["kind"] == "alibi" else "position_bias"] = (kind, dump["bias"])
    if case["kind"] == "sinks":
        tensors["sinks"] = (kind, dump["sinks"])
    if case["kind"] == "floats":
        tensors[case["float_name"]] = (kind, dump["bias"][:, 0, 0] if "key" in case["float_name"] else dump["bias"][0, 0])
    if case["says_scale"]:
        metadata["scale"] = str(case["scale"])
    if case["kind"] == "steps" and (case["base"] != 10000 or case["seed"] % 2):
        metadata["rope_theta"] = str(case["base"])
    return tensors, metadata


def possible(bug, case):
    stages = case["stages"]
    maps = "weights" in stages
    if bug == "alibi_sign":
        return case["kind"] == "alibi"
    if case["kind"] == "steps":
        return False
    if bug in ("no_scale", "scaled_twice"):
        return maps or "scaled" in stages
    if bug in ("softmax_over_queries", "softmax_twice"):
        return maps
    if bug in ("mask_missing", "causal_leaks_one", "causal_masks_self"):
        return case["causal"] and case["told"] != "nothing" and ("masked" in stages or maps)
    if bug == "mask_after_softmax":
        return case["causal"] and case["told"] != "nothing" and maps
    if bug == "kv_swapped":
        return "v" in stages and ("scores" in stages or maps)
    if bug == "qk_swapped":
        return case["T"] == case["S"] and ("scores" in stages or maps)
    return True


def same(a, b, case):
    tolerance = max(128 * case["format"].unit, 1e-5)
    for name in case["stages"]:
        x, y = (np.where(abs(z[name]) > 1000, np.sign(z[name]) * np.inf, z[name]) for z in (a, b))
        if x.shape != y.shape or not np.allclose(x, y, tolerance, tolerance, equal_nan=True):
            return False
    return True


KINDS = "alibi t5 sinks yarn steps floats".split()


def main(folder, seed, count, kind=None):
    rng, lines = np.random.default_rng(seed), []
    while len(lines) < count:
        case = draw_case(rng, kind or KINDS[rng.integers(len(KINDS))])
        bug = BUGS[rng.integers(len(BUGS))] if rng.random() < 0.5 else None
        if bug is not None and not possible(bug, case):
            continue
        dump = attention(case, bug)
        if any(np.isnan(dump[n]).any() for n in case["stages"]) or not dump["meant"].any(3).all():
            continue
        expected = [bug or "correct"]
        if case["kind"] in ("yarn", "steps") and bug is None and len(case["stages"]) == 4 and case["stages"][-1] == "k_rotated":
            expected.append("unknown")  # frequencies that the file does not state, and nothing after them
        if case["kind"] == "steps":
            exact = attention(dict(case, coarse=None), None)
            if same(dump, exact, case):
                continue
            expected = list(EXPECTED_OF_STEPS)
        if bug is not None:
            if same(dump, attention(case, None), case):
                continue
            expected += [b for b in BUGS if b != bug and possible(b, case) and same(dump, attention(case, b), case)]
            # A bias that the file does not hold shows beside some mistakes only.
            expected += ["other"] * (case["kind"] in ("alibi", "t5"))
            expected += ["causal_offset"] * (bug == "causal_masks_self" and case["S"] == case["T"] + 1)
            expected += ["scale_d_model"] * (bug == "scaled_twice" and case["H"] == case["D"])
        tensors, metadata = tensors_of(dump, case)
        shape = "x".join(str(case[letter]) for letter in "BHGTSD")
        mask = ("causal" if case["causal"] else "") + ("padded" if not case["keys"].all() else "")
        more = {"alibi": lambda: f"{case['form'].replace(' ', '')}-{case['added']}{'-early' if case['early'] else ''}", "floats": lambda: case["float_name"]}
        name = f"{len(lines):05d}_{case['kind']}_{bug}_{more.get(case['kind'], lambda: '')()}_{'-'.join(case['stages'])}_{mask or 'open'}_{case['told']}_{'bias' if case['says_bias'] else ''}_{shape}_{case['format'].name}{'s' if case['format'].each_stage else ''}"
        save_safetensors(f"{folder}/{name}.safetensors", tensors, metadata)
        lines.append(f"{name}.safetensors {' '.join(expected)}")
    with open(f"{folder}/expected.txt", "w") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    with np.errstate(all="ignore"):
        main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
