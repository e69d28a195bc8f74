/// The output of `attnscope export`, read back by Python and NumPy.

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cli/process.hpp"
#include "tests/support/python.hpp"

namespace attn::test {
namespace {

/// .safetensors, .csv and .npy of the same tensor must agree bit for bit.
constexpr const char* kAgree = R"(
import csv, json, math, struct, sys
import numpy as np

def safetensors(path):
    data = open(path, 'rb').read()
    n, = struct.unpack('<Q', data[:8])
    header = json.loads(data[8:8 + n])
    out = {}
    for name, entry in header.items():
        if name == '__metadata__': continue
        a, b = entry['data_offsets']
        kind = {'F32': np.float32, 'I32': np.int32, 'BOOL': np.bool_}[entry['dtype']]
        out[name] = np.frombuffer(data[8 + n + a:8 + n + b], dtype=kind).reshape(entry['shape'])
    return out, header['__metadata__']

def table(path, texts):
    rows = list(csv.reader(open(path, newline='', encoding='utf-8')))
    first = rows[0].index(next(c for c in rows[0] if c[0].isdigit()))
    return rows[0], [r[:first] for r in rows[1:]], np.array([[np.float32(c) for c in r[first:]] for r in rows[1:]], np.float32)

trace, metadata = safetensors('trace.safetensors')
stored = np.load('tensor.npy', allow_pickle=False)
whole = trace[NAME]
assert stored.shape == whole.shape and stored.dtype == whole.dtype, (stored.shape, whole.shape, stored.dtype)
assert stored.tobytes() == whole.tobytes()
header, left, numbers = table('tensor.csv', None)
assert numbers.tobytes() == whole.astype(np.float32).reshape(numbers.shape).tobytes(), 'the whole tensor as CSV'
)";

struct Case {
    const char *preset, *stage, *layer, *name;
};

void expect_agreement(const Case& c, const ScratchFolder& folder) {
    SCOPED_TRACE(c.name);
    ASSERT_EQ(attnscope({"export", "--preset", c.preset, "--out", folder.path("trace.safetensors")}).exit_code, 0);
    for (const char* file : {"tensor.csv", "tensor.npy"}) {
        std::vector<std::string> arguments = {"export", "--preset", c.preset, "--stage", c.stage, "--out", folder.path(file)};
        if (c.layer != nullptr) arguments.insert(arguments.end(), {"--layer", c.layer});
        const Outcome outcome = attnscope(arguments);
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_NE(outcome.out.find(c.name), std::string::npos);
    }
    const PythonOutcome python = run_python(folder.path(""), std::string("NAME = '") + c.name + "'\n" + kAgree);
    EXPECT_TRUE(python.ok) << python.said;
}

TEST(Export, CsvNpyAndSafetensorsAgreeBitForBit) {
    const ScratchFolder folder;
    ATTN_NEEDS_NUMPY(folder.path(""));
    for (const Case& c :
         {Case{"causal-attention", "masked", "0", "layers.0.attention.masked"}, Case{"causal-attention", "tokens", nullptr, "tokens"},
          Case{"gpt-tiny", "q", "1", "layers.1.attention.q"}, Case{"gpt-tiny", "probabilities", nullptr, "probabilities"},
          Case{"encoder-decoder", "cross_scores", "0", "decoder.layers.0.cross_attention.scores"},
          Case{"encoder-decoder", "encoder.layers.0.attention.weights", "0", "encoder.layers.0.attention.weights"}})
        expect_agreement(c, folder);
}

TEST(Export, APlantedErrorIsSeen) {
    const ScratchFolder folder;
    ATTN_NEEDS_NUMPY(folder.path(""));
    expect_agreement({"causal-attention", "scores", "0", "layers.0.attention.scores"}, folder);
    std::string text = read_bytes(folder.path("tensor.csv"));
    ++text[text.find_first_of("12345678", text.find_last_of(','))];
    folder.file("tensor.csv", text);
    const PythonOutcome python = run_python(folder.path(""), std::string("NAME = 'layers.0.attention.scores'\n") + kAgree);
    EXPECT_FALSE(python.ok);
    EXPECT_NE(python.said.find("the whole tensor as CSV"), std::string::npos) << python.said;
}

TEST(Export, OneHeadOfOneSequenceHasTokensOnBothSides) {
    const ScratchFolder folder;
    ATTN_NEEDS_NUMPY(folder.path(""));
    const std::vector<std::string> words{"export", "--text", "the \"cat\", sat", "--text", "=1+1", "--stage", "weights"};
    const auto write = [&](std::vector<std::string> more) {
        std::vector<std::string> all = words;
        all.insert(all.end(), more.begin(), more.end());
        const Outcome outcome = attnscope(all);
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    };
    write({"--head", "1", "--batch", "0", "--out", folder.path("one.csv")});
    write({"--head", "1", "--batch", "0", "--out", folder.path("one.npy")});
    write({"--out", folder.path("all.npy")});
    write({"--head", "1", "--out", folder.path("head.npy")});
    const PythonOutcome python = run_python(folder.path(""), R"(
import csv
import numpy as np
rows = list(csv.reader(open('one.csv', newline='')))
words = ['the', '"', 'cat', '"', ',', 'sat']
assert rows[0] == ['query', 'token'] + [f'{i} {w}' for i, w in enumerate(words)], rows[0]
assert [r[:2] for r in rows[1:]] == [[str(i), w] for i, w in enumerate(words)], rows
one, whole, head = np.load('one.npy'), np.load('all.npy'), np.load('head.npy')
assert one.shape == (6, 6) and head.shape == (2, 6, 6) and whole.shape == (2, 2, 6, 6)
assert np.array_equal(one, whole[0, 1]) and np.array_equal(head, whole[:, 1])
assert not np.array_equal(one, whole[0, 0])
assert np.array_equal(np.array([[np.float32(c) for c in r[2:]] for r in rows[1:]]), one)
)");
    EXPECT_TRUE(python.ok) << python.said;
}

TEST(Export, ATrainedModelReadsATextOfOnesOwn) {
    const ScratchFolder folder;
    const auto tokens = [&](std::vector<std::string> more) {
        std::vector<std::string> all{"export", "--task", "text", "--steps", "2", "--stage", "tokens", "--out", folder.path("tokens.csv")};
        all.insert(all.end(), more.begin(), more.end());
        const Outcome outcome = attnscope(all);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        return read_bytes(folder.path("tokens.csv"));
    };
    folder.file("two.txt", "the sea\n\nthe lighthouse\n");
    const std::string own = tokens({"--text", "the sea", "--text", "the lighthouse"});
    EXPECT_EQ(own, tokens({"--text-file", folder.path("two.txt")}));
    EXPECT_NE(own, tokens({}));
    EXPECT_NE(own.find(",13\r\n0,7,"), std::string::npos) << own;  // fourteen letters; the shorter text has seven
}

TEST(Export, SafetensorsOfOneStageHoldsItAlone) {
    const ScratchFolder folder;
    const std::string out = folder.path("one.safetensors");
    ASSERT_EQ(attnscope({"export", "--stage", "scores", "--out", out}).exit_code, 0);
    const std::string bytes = read_bytes(out);
    EXPECT_NE(bytes.find("\"layers.0.attention.scores\""), std::string::npos);
    EXPECT_EQ(bytes.find("\"layers.0.attention.weights\""), std::string::npos);
}

/// Reads one.csv, one.npy and one.safetensors of the same parameter.
constexpr const char* kParameter = R"(
import csv, json, struct
import numpy as np
data = open('one.safetensors', 'rb').read()
n, = struct.unpack('<Q', data[:8])
header = json.loads(data[8:8 + n])
names = [k for k in header if k != '__metadata__']
assert names == [NAME], names
stored = np.frombuffer(data[8 + n:], np.float32).reshape(header[NAME]['shape'])
assert json.loads(header['__metadata__']['axes'])[NAME] == AXES, header
one = np.load('one.npy')
assert one.dtype == np.float32 and one.tobytes() == stored.tobytes() and one.shape == stored.shape
rows = list(csv.reader(open('one.csv', newline='', encoding='utf-8')))
left = 0 if len(AXES) == 1 else 2 if AXES[0] == 'V' else 1
table = np.array([[np.float32(c) for c in r[left:]] for r in rows[1:]], np.float32)
assert table.tobytes() == one.tobytes()
if AXES[0] == 'V': assert rows[0][:2] == ['V', 'token'] and rows[1][:2] == ['0', '<pad>'] and rows[3][1] == 'a', rows[:4]
)";

TEST(Export, AParameterIsTheSameInEveryFormat) {
    const ScratchFolder folder;
    ATTN_NEEDS_NUMPY(folder.path(""));
    for (const auto& [name, axes] :
         {std::pair{"token_embedding.weight", "VC"}, {"layers.1.attention.qkv.weight", "CN"}, {"layers.0.norm_1.bias", "C"}}) {
        for (const char* file : {"one.csv", "one.npy", "one.safetensors"}) {
            const Outcome outcome = attnscope({"export", "--preset", "gpt-tiny", "--stage", name, "--out", folder.path(file)});
            ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
            EXPECT_NE(outcome.out.find(name), std::string::npos) << outcome.out;
        }
        const PythonOutcome python = run_python(folder.path(""), std::string("NAME, AXES = '") + name + "', '" + axes + "'\n" + kParameter);
        EXPECT_TRUE(python.ok) << name << ": " << python.said;
    }
}

/// One column range after the other, as the layout says: Q, K, V.
constexpr const char* kPacked = R"(
import json, struct
import numpy as np
packed, parts = np.load('qkv.npy'), [np.load(n + '.npy') for n in 'qkv']
assert np.concatenate(parts, axis=-1).tobytes() == packed.tobytes() and len({p.tobytes() for p in parts}) == 3
data = open('k.safetensors', 'rb').read()
n, = struct.unpack('<Q', data[:8])
header = json.loads(data[8:8 + n])
assert [k for k in header if k != '__metadata__'] == ['layers.1.attention.k.' + KIND], header
assert data[8 + n:] == parts[1].tobytes() and header['layers.1.attention.k.' + KIND]['shape'] == list(parts[1].shape)
)";

TEST(Export, QueriesKeysAndValuesHaveTheNamesThatTheModelIsListedWith) {
    const ScratchFolder folder;
    ATTN_NEEDS_NUMPY(folder.path(""));
    for (const char* kind : {"weight", "bias"}) {
        for (const char* file : {"qkv.npy", "q.npy", "k.npy", "v.npy", "k.safetensors"}) {
            const std::string part = std::string(file).substr(0, std::string_view(file).find('.'));
            const Outcome outcome = attnscope(
                {"export", "--preset", "gpt-tiny", "--stage", "layers.1.attention." + part + "." + kind, "--out", folder.path(file)});
            ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
        }
        const PythonOutcome python = run_python(folder.path(""), std::string("KIND = '") + kind + "'\n" + kPacked);
        EXPECT_TRUE(python.ok) << kind << ": " << python.said;
    }
}

/// Gradients of all kinds in one file, checked with the chain rule.
constexpr const char* kGradients = R"(
import json, struct
import numpy as np

def load(path):
    data = open(path, 'rb').read()
    n, = struct.unpack('<Q', data[:8])
    header = json.loads(data[8:8 + n])
    metadata = header.pop('__metadata__')
    kinds = {'F32': np.float32, 'I32': np.int32, 'BOOL': np.bool_}
    return {k: np.frombuffer(data[8 + n + e['data_offsets'][0]:8 + n + e['data_offsets'][1]], kinds[e['dtype']]).reshape(e['shape'])
            for k, e in header.items()}, metadata

trace, about = load('trace.safetensors')
gradients, metadata = load('all.safetensors')
assert metadata['format'] == 'attnscope-gradients/1' and metadata['masked_cells'] == '0'
assert metadata['config'] == about['config']
stages = json.loads(about['stages'])
assert json.loads(metadata['stages']) == [s for s in stages if s != 'tokens']
for name in stages:
    if name != 'tokens': assert gradients[name].shape == trace[name].shape, name
parameters = [k for k in gradients if k not in stages]
assert {'token_embedding.weight', 'position_embedding.weight', 'layers.3.ffn.out.bias', 'final_norm.weight'} <= set(parameters), parameters
tokens = trace['tokens'].astype(int)
p = trace['probabilities'].astype(np.float64)
right = p[0, np.arange(tokens.shape[1] - 1), tokens[0, 1:]]
assert abs(-np.log(right).mean() - float(json.loads(metadata['loss']))) < 1e-5 and int(metadata['counted']) == tokens.shape[1] - 1
# A tied embedding is used twice: by the head and by the lookup.
expected = np.einsum('btv,btc->vc', gradients['logits'].astype(np.float64), trace['final_norm'])
np.add.at(expected, tokens, gradients['token_embedding'].astype(np.float64))
found = gradients['token_embedding.weight']
assert np.abs(expected - found).max() <= 1e-6 + 1e-4 * np.abs(expected).max() and np.abs(found).max() > 1e-3
one = np.load('one.npy')
assert one.tobytes() == found.tobytes()
)";

TEST(Export, AllGradientsAreInOneFile) {
    const ScratchFolder folder;
    ATTN_NEEDS_NUMPY(folder.path(""));
    const auto run = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.end(), {"--preset", "gpt-tiny"});
        const Outcome outcome = attnscope(arguments);
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    };
    run({"trace", "--out", folder.path("trace.safetensors")});
    run({"export", "--gradients", "--out", folder.path("all.safetensors")});
    run({"export", "--gradients", "--stage", "token_embedding.weight", "--out", folder.path("one.npy")});
    const PythonOutcome python = run_python(folder.path(""), kGradients);
    EXPECT_TRUE(python.ok) << python.said;
    run({"export", "--gradients", "--stage", "weights", "--layer", "1", "--out", folder.path("one.safetensors")});
    const std::string bytes = read_bytes(folder.path("one.safetensors"));
    EXPECT_NE(bytes.find("layers.1.attention.weights"), std::string::npos);
    EXPECT_EQ(bytes.find("layers.0.attention.weights"), std::string::npos);
    EXPECT_NE(bytes.find("attnscope-gradients/1"), std::string::npos);
    const PythonOutcome planted =
        run_python(folder.path(""), std::string(kGradients) + "found = found * 1.01\nassert np.abs(expected - found)"
                                                              ".max() <= 1e-6 + 1e-4 * np.abs(expected).max()\n");
    EXPECT_FALSE(planted.ok) << "the negative control";
}

/// Maps of a long text need more memory than the user allows: in the window, or with --memory, which goes before.
TEST(Export, KeepsToTheMemoryThatTheUserSet) {
    const ScratchFolder folder;
    const std::string settings = "mkdir -p .config/attnscope && echo '{\"memory_mib\": 20}' > .config/attnscope/settings.json && ";
    const std::string text = "for i in $(seq 300); do echo -n 'the cat sat '; done > text.txt && ";
    const auto exported = [&](const std::string& more) {
        return in_shell(settings + text + "attnscope export --text-file text.txt --stage scores --layer 0 --out x.npy " + more,
                        folder.path(""));
    };
    const Outcome as_set = exported(""), less = exported("--memory 10"), more = exported("--memory 4000");
    EXPECT_EQ(as_set.exit_code, 2);
    EXPECT_NE(as_set.err.find("leaves 20 MiB"), std::string::npos) << as_set.err;
    EXPECT_EQ(less.exit_code, 2);
    EXPECT_NE(less.err.find("leaves 10 MiB"), std::string::npos) << less.err;
    EXPECT_EQ(more.exit_code, 0) << more.err;
}

TEST(Export, SaysWhichLayerLacksTheStage) {
    // Two encoder layers, one decoder layer.
    const ScratchFolder folder;
    const std::filesystem::path golden = std::filesystem::path(ATTN_TEST_DATA) / "golden/hf", model = folder.path("model");
    std::filesystem::copy(golden / "t5", model);
    std::filesystem::copy(golden / "tokenizers/t5/tokenizer.json", model);
    const auto exported = [&](const std::string& layer) {
        return attnscope({"export", "--model", model, "--text", "the", "--source", "dog", "--stage", "cross_weights", "--layer", layer,
                          "--out", folder.path("x.npy")});
    };
    EXPECT_EQ(exported("0").exit_code, 0);
    EXPECT_EQ(exported("1").err, "attnscope: layer 1 of this model has no stage cross_weights, though others have\n");
}

TEST(Export, RefusesWhatIsNotThereAndWritesNothing) {
    const ScratchFolder folder;
    const auto refused = [&](std::vector<std::string> arguments, const std::string& words) {
        arguments.insert(arguments.begin(), "export");
        const Outcome outcome = attnscope(arguments);
        EXPECT_EQ(outcome.exit_code, 2);
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
        EXPECT_NE(outcome.err.find(words), std::string::npos) << outcome.err;
        EXPECT_TRUE(folder.names().empty());
    };
    const std::string csv = folder.path("x.csv");
    refused({"--stage", "weights", "--out", folder.path("x.txt")}, "x.txt");
    refused({"--out", csv}, "--stage");
    refused({"--stage", "weihgts", "--out", csv}, "weihgts");
    refused({"--stage", "weights", "--layer", "7", "--out", csv}, "layer 7");
    refused({"--stage", "layers.0.attention.q", "--layer", "1", "--out", csv}, "--layer 1 contradicts --stage layers.0.attention.q");
    refused({"--stage", "logits", "--layer", "0", "--out", csv}, "belongs to no layer");
    refused({"--stage", "token_embedding.weight", "--layer", "0", "--out", csv}, "--layer");
    refused({"--stage", "weights", "--head", "9", "--out", csv}, "head 9");
    refused({"--stage", "weights", "--head", "-1", "--out", csv}, "head -1");
    refused({"--stage", "weights", "--batch", "2", "--out", csv}, "2");
    refused({"--stage", "embedding", "--head", "0", "--out", csv}, "no heads");
    refused({"--stage", "tokens", "--gradients", "--out", csv}, "gradients");
    refused({"--stage", "weights", "--head", "0", "--out", folder.path("x.safetensors")}, "--head");
    refused({"--stage", "token_embedding.wait", "--out", csv}, "\"token_embedding.wait\"; there is token_embedding.weight\n");
    refused({"--stage", "layers.0.attention.qk.weight", "--out", csv}, "; there is layers.0.attention.q");
    refused({"--stage", "layers.99.attention.q.weight", "--out", csv}, "; there is layers.0.attention");
    refused({"--stage", "token_embedding.weight", "--head", "0", "--out", csv}, "no heads");
    refused({"--stage", "token_embedding.weight", "--batch", "0", "--out", csv}, "--batch");
    refused({"--preset", "numpy-single-head", "--gradients", "--out", folder.path("x.safetensors")}, "gradients");
    refused({"--stage", "weights", "--step", "3", "--out", csv}, "--step");
    refused({"--stage", "weights", "--out", folder.path("nowhere/x.csv")}, "x.csv");
}

}  // namespace
}  // namespace attn::test
