#include "engine/trace/trace_file.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "engine/io/safetensors.hpp"
#include "engine/plan/config_json.hpp"
#include "engine/trace/settings_json.hpp"
#include "tests/engine/io_support.hpp"
#include "tests/engine/numpy_process.hpp"

namespace attn {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Tensor<float> tensor(const Shape& shape, float first) {
    Tensor<float> out(shape);
    for (std::int64_t i = 0; i < out.size(); ++i) out.data()[i] = first + static_cast<float>(i) * 0.37F;
    return out;
}

/// Two sequences of 3 and 2 tokens, one layer with two heads; built by hand, since only its shape matters.
Trace<float> sample_trace() {
    Trace<float> trace;
    trace.config.num_heads = 2;
    trace.settings.masks.causal = true;
    trace.settings.temperature = 0.3;
    trace.tokens = {3, {2, 3, 4, 3, 2, 0}, {3, 2}};
    Tensor<float> ids({{Axis::B, 2}, {Axis::T, 3}});
    for (std::size_t i = 0; i < 6; ++i) ids.data()[i] = static_cast<float>(trace.tokens.ids[i]);
    const auto mask = std::make_shared<const Mask>(Mask::causal(3, 3));
    const Shape map{{Axis::B, 2}, {Axis::H, 2}, {Axis::T, 3}, {Axis::S, 3}};
    Tensor<float> masked = tensor(map, -1);
    for (std::int64_t b = 0; b < 2; ++b)
        for (std::int64_t h = 0; h < 2; ++h)
            for (std::int64_t t = 0; t < 3; ++t)
                for (std::int64_t s = t + 1; s < 3; ++s) masked(b, h, t, s) = -kInfinity;
    trace.stages = {{{Stage::Tokens}, ids, nullptr},
                    {{Stage::Embedding}, tensor({{Axis::B, 2}, {Axis::T, 3}, {Axis::C, 4}}, 0), nullptr},
                    {{Stage::Scores, 0}, tensor(map, 1), nullptr},
                    {{Stage::Masked, 0}, masked, mask},
                    {{Stage::Weights, 0}, tensor(map, 2), mask},
                    {{Stage::Logits}, tensor({{Axis::B, 2}, {Axis::T, 3}, {Axis::V, 5}}, 3), nullptr}};
    return trace;
}
const TokenTexts kTexts = {{"the", "cat\xFF", "\"sat\""}, {"a", "注"}};

TEST(TraceFile, HoldsEveryStageBitForBit) {
    const test::TemporaryFolder folder;
    const Trace<float> trace = sample_trace();
    write_trace(folder / "t.safetensors", trace, kTexts);
    const ArrayFile file = read_safetensors(folder / "t.safetensors");
    EXPECT_EQ(file.arrays.size(), trace.stages.size() + 2);
    for (const auto& stage : trace.stages) {
        const NamedArray& array = file.at(tensor_name(stage.id));
        ASSERT_EQ(array.shape.size(), static_cast<std::size_t>(stage.value.shape().rank()));
        for (int axis = 0; axis < stage.value.shape().rank(); ++axis)
            EXPECT_EQ(array.shape[static_cast<std::size_t>(axis)], stage.value.shape()[axis].size);
        const auto values = values_as<float>(array, file.source);
        EXPECT_TRUE(std::equal(values.begin(), values.end(), stage.value.values().begin(), stage.value.values().end())) << array.name;
    }
    EXPECT_EQ(file.at("tokens").dtype, DType::I32);
    for (const char* name : {"layers.0.attention.masked.keep", "layers.0.attention.weights.keep"}) {
        EXPECT_EQ(file.at(name).dtype, DType::Bool);
        EXPECT_EQ(file.at(name).shape, (std::vector<std::int64_t>{1, 1, 3, 3}));
        EXPECT_EQ(file.values<std::uint8_t>(name), (std::vector<std::uint8_t>{1, 0, 0, 1, 1, 0, 1, 1, 1}));
    }
    EXPECT_EQ(file.values<float>("layers.0.attention.masked")[1], -kInfinity);
}

TEST(TraceFile, MetadataTellHowToReadIt) {
    const test::TemporaryFolder folder;
    const Trace<float> trace = sample_trace();
    write_trace(folder / "t.safetensors", trace, kTexts);
    const ArrayFile file = read_safetensors(folder / "t.safetensors");
    EXPECT_EQ(file.metadata_at("format"), "attnscope-trace/1");
    EXPECT_EQ(config_from_json(file.metadata_at("config"), "t"), trace.config);
    EXPECT_EQ(forward_settings_from_json(file.metadata_at("settings"), "t"), trace.settings);
    const auto json = [&](const char* key) { return nlohmann::json::parse(file.metadata_at(key)); };
    EXPECT_EQ(json("axes")["layers.0.attention.weights"], "BHTS");
    EXPECT_EQ(json("axes")["embedding"], "BTC");
    EXPECT_EQ(json("axes").size(), file.arrays.size());
    EXPECT_EQ(json("stages"), nlohmann::json({"tokens", "embedding", "layers.0.attention.scores", "layers.0.attention.masked",
                                              "layers.0.attention.weights", "logits"}));
    EXPECT_EQ(json("tokens"), nlohmann::json::parse(R"([["the", "cat\\xFF", "\"sat\""], ["a", "注"]])"));
    EXPECT_EQ(json("lengths"), nlohmann::json({3, 2}));
    EXPECT_FALSE(file.metadata.contains("source_tokens"));
}

TEST(TraceFile, SourceTokensOfAnEncoder) {
    const test::TemporaryFolder folder;
    Trace<float> trace = sample_trace();
    trace.source_tokens = {2, {2, 3, 2, 0}, {2, 1}};
    write_trace(folder / "t.safetensors", trace, kTexts, {{"x", "y"}, {"z"}});
    EXPECT_EQ(read_safetensors(folder / "t.safetensors").metadata_at("source_tokens"), R"([["x","y"],["z"]])");
    EXPECT_THROW(write_trace(folder / "u.safetensors", trace, kTexts), ShapeError);
    EXPECT_THROW(write_trace(folder / "u.safetensors", trace, {{"the"}}, {{"x", "y"}, {"z"}}), ShapeError);
    EXPECT_EQ(folder.entries(), 1);
}

TEST(TraceFile, SixLinesOfNumpyReadIt) {
    const test::TemporaryFolder folder;
    write_trace(folder / "t.safetensors", sample_trace(), kTexts);
    test::run_numpy(
        folder.path(),
        "import json, numpy as np\n"
        "raw = open('t.safetensors', 'rb').read()\n"
        "n = int.from_bytes(raw[:8], 'little')\n"
        "head = json.loads(raw[8:8 + n])\n"
        "types = {'F32': '<f4', 'I32': '<i4', 'BOOL': '?'}\n"
        "meta = head.pop('__metadata__')\n"
        "t = {k: np.frombuffer(raw, types[v['dtype']], int(np.prod(v['shape'])), 8 + n + v['data_offsets'][0]).reshape(v['shape'])\n"
        "     for k, v in head.items()}\n"
        "assert (8 + n) % 8 == 0 and all(v['data_offsets'][0] % np.dtype(types[v['dtype']]).itemsize == 0 for v in head.values())\n"
        "keep = np.broadcast_to(t['layers.0.attention.masked.keep'], (2, 2, 3, 3))\n"
        "assert (np.isneginf(t['layers.0.attention.masked']) == ~keep).all()\n"
        "assert json.loads(meta['tokens'])[1] == ['a', '注'] and t['tokens'].tolist() == [[2, 3, 4], [3, 2, 0]]\n");
}

}  // namespace
}  // namespace attn
