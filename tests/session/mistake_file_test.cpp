/// The file of a trace with a deliberate mistake is the same whether the trace is held or computed part by part.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "app/session/document/document_error.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/files/tensor_export.hpp"
#include "app/session/session.hpp"
#include "engine/model/outline.hpp"
#include "tests/support/random_model.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::app {
namespace {

constexpr double kAmpleMib = 1000;

std::vector<Mistake> all_mistakes() {
    std::vector<Mistake> all{Mistake::None};
    for (const MistakeInfo& info : mistakes()) all.push_back(info.mistake);
    return all;
}

/// The snapshot's pass with a mistake, held as a whole.
Snapshot whole_with(Snapshot snapshot, Mistake mistake) {
    const Trace<float>& trace = *snapshot.trace;
    ForwardSettings settings = trace.settings;
    settings.mistake = mistake;
    snapshot.trace =
        std::make_shared<const Trace<float>>(trace_forward<float>(trace.parameters, trace.tokens, trace.source_tokens, settings));
    snapshot.budget_mib = kAmpleMib;
    return snapshot;
}

Snapshot outline_of(Snapshot whole) {
    const Trace<float>& trace = *whole.trace;
    whole.trace =
        std::make_shared<const Trace<float>>(trace_outline<float>(trace.parameters, trace.tokens, trace.source_tokens, trace.settings));
    return whole;
}

std::string file_of(const Snapshot& snapshot) {
    const test::TemporaryFolder folder;
    write_snapshot_trace(folder / "trace.safetensors", snapshot);
    std::ifstream file(folder / "trace.safetensors", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

Snapshot snapshot_of(const testing_support::RandomModel& model) {
    Snapshot snapshot;
    snapshot.trace = std::make_shared<const Trace<float>>(model.trace<float>());
    const auto texts_of = [](const TokenBatch& batch) {
        std::vector<std::vector<Token>> texts;
        for (const std::int64_t length : batch.lengths) texts.emplace_back(static_cast<std::size_t>(length), Token{"x"});
        return texts;
    };
    snapshot.tokens = texts_of(model.tokens);
    snapshot.source_tokens = texts_of(model.source);
    return snapshot;
}

TEST(MistakeFile, IsTheSamePartByPartForEveryPreset) {
    for (const std::string& name : preset_names()) {
        Session session(open_preset(name), [] {});
        const auto shown = session.wait();
        ASSERT_EQ(shown->problem, "") << name;
        std::string correct;
        for (const Mistake mistake : all_mistakes()) {
            SCOPED_TRACE(name + ", " + std::string(mistake_name(mistake)));
            const Snapshot whole = whole_with(*shown, mistake), outline = outline_of(whole);
            ASSERT_TRUE(whole.trace->whole());
            ASSERT_FALSE(outline.trace->whole());
            const std::string held = file_of(whole);
            EXPECT_TRUE(held == file_of(outline));
            if (mistake == Mistake::None) correct = held;
            else EXPECT_GT(held.size(), correct.size()) << "the projections and the correct mask are added";
        }
    }
}

/// Grouped heads, windows, painted masks, texts of different lengths, dropout.
TEST(MistakeFile, IsTheSamePartByPartForRandomModels) {
    int with_padding = 0, outlines = 0;
    for (unsigned seed = 0; seed < 150; ++seed) {
        const testing_support::RandomModel model(seed, seed % 2 == 0);
        const Snapshot shown = snapshot_of(model);
        for (const Mistake mistake : all_mistakes()) {
            SCOPED_TRACE(std::to_string(seed) + ", " + std::string(mistake_name(mistake)));
            const Snapshot whole = whole_with(shown, mistake), outline = outline_of(whole);
            ASSERT_TRUE(whole.trace->whole());
            EXPECT_TRUE(file_of(whole) == file_of(outline));
            outlines += outline.trace->whole() ? 0 : 1;
        }
        with_padding += model.tokens.lengths != std::vector<std::int64_t>(model.tokens.lengths.size(), model.tokens.length) ? 1 : 0;
    }
    EXPECT_GT(with_padding, 20);
    EXPECT_GT(outlines, 2000);
}

/// A part must fit the budget, the whole trace need not.
TEST(MistakeFile, NeedsTheMemoryOfOnePart) {
    Session session(open_preset("gpt-tiny"), [] {});
    const Snapshot whole = whole_with(*session.wait(), Mistake::NoScale);
    Snapshot outline = outline_of(whole);
    outline.budget_mib = outline.whole_mib / 2;
    EXPECT_TRUE(file_of(outline) == file_of(whole));
    outline.budget_mib = 1e-3;
    EXPECT_THROW(file_of(outline), DocumentError);
}

}  // namespace
}  // namespace attn::app
