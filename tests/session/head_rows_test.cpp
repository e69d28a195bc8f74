#include "app/session/values/head_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "app/session/document/prepare.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/session.hpp"
#include "engine/model/transformer.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {
namespace {

TEST(RowsOfAllHeads, AreTheRowsOfTheMaps) {
    for (const char* preset : {"stories", "translation"}) {
        SCOPED_TRACE(preset);
        Session session(open_preset(preset), [] {});
        const auto snapshot = session.wait();
        const auto rows = session.get(facet::HeadRows{0, 2});
        const Config& config = snapshot->trace->config;
        ASSERT_EQ(rows->kinds.size(), config.architecture == Architecture::EncoderDecoder ? 2U : 1U);
        for (const HeadRowsOf& kind : rows->kinds) {
            ASSERT_EQ(kind.maps.size(), static_cast<std::size_t>(config.num_layers * config.num_heads));
            for (std::size_t row = 0; row < kind.maps.size(); ++row)
                for (std::int64_t key = 0; key < kind.keys; ++key)
                    EXPECT_EQ(kind.weights[row * static_cast<std::size_t>(kind.keys) + static_cast<std::size_t>(key)],
                              snapshot->trace->find(kind.maps[row])->value(0, kind.heads[row], 2, key));
        }
        float largest = 0;
        for (const RecordedStage<float>& stage : snapshot->trace->stages) {
            const Stack stack = config.architecture == Architecture::EncoderDecoder ? Stack::Decoder : Stack::Main;
            if (stage.id.stage != Stage::Weights || stage.id.stack != stack) continue;
            for (std::int64_t head = 0; head < config.num_heads; ++head)
                for (std::int64_t key = 0; key < stage.value.shape()[3].size; ++key)
                    largest = std::max(largest, stage.value(0, head, 2, key));
        }
        EXPECT_EQ(rows->largest, largest);
        EXPECT_FALSE(session.compute(facet::HeadRows{0, 1000}));
        EXPECT_FALSE(session.compute(facet::HeadRows{3, 0}));
    }
}

TEST(RowsOfAllHeads, HaveALargestWeightBesideNan) {
    Session session(open_preset("gpt-tiny"), [] {});
    Trace<float> trace = *session.wait()->trace;
    for (RecordedStage<float>& stage : trace.stages) {
        if (stage.id.stage != Stage::Weights) continue;
        std::fill_n(stage.value.data(), stage.value.size(), 0.25F);
        stage.value(0, 0, 1, 0) = std::numeric_limits<float>::quiet_NaN();
        stage.value(0, 1, 1, 0) = stage.id.layer == 0 ? 0.75F : 0.5F;
    }
    const auto never = [](const StageId&) -> Tensor<float> { throw Error("the trace holds every map"); };
    EXPECT_EQ(head_rows(trace, 0, 1, never).largest, 0.75F);
    EXPECT_EQ(head_rows(trace, 0, 2, never).largest, 0.25F);
}

TEST(RowsOfAllHeads, OfALongTextAreTheRowsOfTheWholeMaps) {
    Document document = open_preset("gpt-tiny");
    document.config.num_layers = 3;
    document.config.num_heads = 2;
    document.config.d_model = document.config.d_ff = 8;
    document.config.context_length = 1500;
    document.texts = {"the"};
    for (int i = 1; i < 1500; ++i) document.texts[0] += i % 3 == 0 ? " cat" : " sat";
    const TraceSize size = prepare(document).size;
    // Less memory than one map of all heads takes.
    Session session(
        document, [] {}, size.parameters + size.outline + size.part + 4);
    const auto shown = session.wait();
    ASSERT_FALSE(shown->trace->whole());
    const Trace<float>& outline = *shown->trace;
    const Trace<float> whole = trace_forward<float>(outline.parameters, outline.tokens, {}, outline.settings);
    for (const std::int64_t position : {std::int64_t{0}, std::int64_t{700}, std::int64_t{1499}}) {
        const auto rows = session.get(facet::HeadRows{0, position});
        const HeadRowsOf& kind = rows->kinds.at(0);
        ASSERT_EQ(kind.maps.size(), 6U);
        for (std::size_t row = 0; row < 6; ++row)
            for (std::int64_t key = 0; key < kind.keys; ++key)
                ASSERT_EQ(kind.weights[row * 1500 + static_cast<std::size_t>(key)],
                          whole.find(kind.maps[row])->value(0, kind.heads[row], position, key));
    }
}

}  // namespace
}  // namespace attn::app
