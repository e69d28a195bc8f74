/// Matrices with so many numbers that a frame must not go through them: their statistics come from a facet, their labels are made only
/// where they are drawn.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "app/panels/compare/colors.hpp"
#include "app/panels/compare/comparison.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/values/changed_slice.hpp"
#include "app/session/values/gradients.hpp"
#include "app/session/values/statistics.hpp"
#include "app/session/values/strong_cells.hpp"
#include "engine/trace/gradient_trace.hpp"
#include "tests/support/interface_fixture.hpp"

namespace attn::app::test {
namespace {

constexpr int kWords = 40'000, kTokens = 60;
const StageId kLogits{Stage::Logits, -1};

class LargeMatrix : public InterfaceFixture {
protected:
    void open_large_vocabulary() {
        Document document = open_preset("gpt-tiny");
        document.preset.clear();
        document.tokenizer = TokenizerKind::Word;
        document.special_tokens = false;
        document.vocabulary_texts = {""};
        for (int word = 0; word < kWords; ++word) document.vocabulary_texts[0] += "w" + std::to_string(word) + " ";
        document.texts = {""};
        for (int token = 0; token < kTokens; ++token) document.texts[0] += "w" + std::to_string(token * 7) + " ";
        document.texts.push_back("w1 w2 w3");
        document.config.d_model = 56;
        document.config.context_length = 64;
        session = std::make_unique<Session>(std::move(document), [] {});
        session->wait();
        view.stage = kLogits;
    }
    Matrix logits(PanelContext& context, std::int64_t sequence = 0) {
        return context.numbers().numbers({.of = context.shown(), .stage = kLogits, .sequence = sequence}).map;
    }
};

/// Double loop over the numbers of one sequence.
void expect_counts(const TensorStatistics& found, const Tensor<float>& values, std::int64_t sequence) {
    double sum = 0;
    float lo = INFINITY, hi = -INFINITY;
    const std::int64_t rows = values.shape()[1].size, cols = values.shape()[2].size;
    for (std::int64_t t = 0; t < rows; ++t)
        for (std::int64_t v = 0; v < cols; ++v) {
            sum += values(sequence, t, v);
            lo = std::min(lo, values(sequence, t, v));
            hi = std::max(hi, values(sequence, t, v));
        }
    EXPECT_EQ(found.count, rows * cols);
    EXPECT_NEAR(found.mean, sum / static_cast<double>(rows * cols), 1e-9);
    EXPECT_EQ(found.min, lo);
    EXPECT_EQ(found.max, hi);
}

TEST_F(LargeMatrix, StatisticsAreThoseOfTheShownSequenceAndComeLater) {
    open_large_vocabulary();
    ASSERT_EQ(session->snapshot()->problem, "");
    for (const std::int64_t sequence : {0, 1}) {
        view.batch = sequence;
        with_context([&](PanelContext& context) {
            const Matrix matrix = logits(context, sequence);
            ASSERT_FALSE(is_small(matrix));
            const TensorStatistics* found = context.numbers().count(matrix);
            ASSERT_NE(found, nullptr);
            expect_counts(*found, trace().find(kLogits)->value, sequence);
        });
        EXPECT_TRUE(session->results().find(session->states().shown, facet::Statistics{.stage = kLogits, .sequence = sequence}))
            << "counted by a worker, not by the frame";
    }
    EXPECT_FALSE(session->compute(facet::Statistics{.stage = kLogits, .sequence = 2})) << "there are two sequences";
}

TEST_F(LargeMatrix, TheRangeOfWeightsComesFromAllOfThem) {
    open_large_vocabulary();
    const std::string name = "token_embedding.weight";
    const float* const numbers = trace().parameters->find(name);
    ASSERT_NE(numbers, nullptr);
    float reach = 0;
    for (std::int64_t i = 0; i < std::int64_t{kWords} * 56; ++i) reach = std::max(reach, std::abs(numbers[i]));
    const auto style = [&] {
        HeatmapStyle found;
        with_context([&](PanelContext& context) {
            found = style_of(context, context.numbers().parameter(context.shown(), {name, Axis::V, Axis::C, 0, 56}));
        });
        return found;
    };
    EXPECT_EQ(style().hi, reach);
    EXPECT_TRUE(session->results().find(session->states().shown, facet::Statistics{.parameter = name})) << "counted by a worker";
    session->apply({command::SetTexts{{"w5 w6"}, {}}, ""});
    session->wait();
    EXPECT_EQ(style().hi, reach);
    with_context([&](PanelContext& context) {
        EXPECT_EQ(context.numbers().latest_range(name, nullptr).second, reach) << "stays while new weights are counted";
    });
    EXPECT_FALSE(session->compute(facet::Statistics{.parameter = "no.such.weight"}));
    const auto gradients = get(facet::Gradients{});
    const auto found = get(facet::Statistics{.gradients = true, .parameter = name});
    const float* const slopes = gradients->parameters->find(name);
    EXPECT_EQ(found->max, *std::max_element(slopes, slopes + std::int64_t{kWords} * 56));
}

TEST_F(LargeMatrix, TheStrongestCellsOfManyHeadsAreFoundByAWorker) {
    Document document = open_preset("gpt-tiny");
    document.preset.clear();
    document.tokenizer = TokenizerKind::Character;
    document.texts = {std::string(130, 'a'), std::string(120, 'b')};
    document.config.num_heads = 16;
    document.config.d_model = 32;
    document.config.context_length = 256;
    session = std::make_unique<Session>(std::move(document), [] {});
    ASSERT_EQ(session->wait()->problem, "");
    const StageId weights{Stage::Weights, 0};
    for (const std::int64_t sequence : {0, 1}) {
        view.batch = sequence;
        with_context([&](PanelContext& context) {
            std::vector<Matrix> maps;
            std::vector<MapOfHead> asked;
            for (std::int64_t head = 0; head < 16; ++head)
                maps.push_back(
                    context.numbers().numbers({.of = context.shown(), .stage = weights, .sequence = sequence, .head = head}).map);
            maps.push_back(slice_of(context, compared_sides(context, weights, kMeanHead).b));
            for (std::int64_t head = 0; head < 16; ++head)
                if (head != 3) asked.push_back({&maps[static_cast<std::size_t>(head)], head});
            asked.push_back({&maps.back(), kMeanHead});
            constexpr std::size_t kMost = 500;
            StrongestCells strongest(kMost);
            for (const auto& [map, head] : asked)
                for (std::int64_t row = 0; row < map->data.rows; ++row)
                    for (std::int64_t col = 0; col < map->data.cols; ++col)
                        if (!map->masked(row, col)) strongest.add({head, row, col, map->at(row, col)});
            const StrongCells expected = strongest.take();
            ASSERT_EQ(expected.cells.size(), kMost);
            const auto found = context.numbers().strongest(asked, kMost);
            ASSERT_NE(found, nullptr);
            ASSERT_EQ(found->cells.size(), kMost);
            for (std::size_t i = 0; i < kMost; ++i) {
                const MapCell &is = found->cells[i], &should = expected.cells[i];
                EXPECT_EQ(std::tie(is.head, is.row, is.col, is.value), std::tie(should.head, should.row, should.col, should.value)) << i;
            }
            facet::StrongCells facet{.stage = weights, .sequence = sequence, .most = kMost};
            for (const MapOfHead& one : asked) facet.heads.push_back(one.head);
            EXPECT_TRUE(session->results().find(session->states().shown, facet)) << "by a worker, not by the frame";
        });
    }
    EXPECT_FALSE(session->compute(facet::StrongCells{.stage = weights, .sequence = 2, .heads = {0}, .most = 3}))
        << "there are two sequences";
}

/// The numbers and range of a difference of logits come from a worker, and stay the same picture from frame to frame.
TEST_F(LargeMatrix, DifferencesAreComputedByAWorker) {
    open_large_vocabulary();
    session->apply({command::SetTexts{{"w1 w2 w3 w4 w5 w6 w7 w8"}, {}}, ""});
    session->wait();
    pin();
    session->apply({command::SetTexts{{"w1 w2 w3 w9 w5 w6 w7 w8"}, {}}, ""});
    session->wait();
    view.batch = 0;
    view.compare.choose(Compare::Pinned);
    const auto difference = [&](PanelContext& context) {
        const ComparedSides sides = compared_sides(context, kLogits, 0);
        return context.numbers().difference(slice_of(context, sides.b), slice_of(context, sides.a)).map;
    };
    std::uint64_t key = 0;
    with_context([&](PanelContext& context) {
        const Matrix found = difference(context);
        ASSERT_FALSE(found.empty());
        ASSERT_FALSE(is_small(found));
        EXPECT_TRUE(found.is_difference);
        const Tensor<float>&after = trace().find(kLogits)->value, &before = computed(context.states.pinned_a)->trace->find(kLogits)->value;
        float reach = 0;
        for (std::int64_t t = 0; t < found.data.rows; ++t)
            for (std::int64_t v = 0; v < found.data.cols; ++v) {
                EXPECT_EQ(found.at(t, v), after(0, t, v) - before(0, t, v));
                reach = std::max(reach, std::abs(found.at(t, v)));
            }
        EXPECT_GT(reach, 0);
        const TensorStatistics& range = context.numbers().statistics(found);
        EXPECT_EQ(std::max(range.max, -range.min), reach);
        EXPECT_EQ(found.at(2, 7), 0) << "before the changed word";
        key = found.data.key;
    });
    with_context([&](PanelContext& context) { EXPECT_EQ(difference(context).data.key, key); });
    with_context([](PanelContext&) {});
    session->apply({command::SetTexts{{"w1 w2 w3 w9 w5 w6 w7 w10"}, {}}, ""});
    session->wait();
    instant = false;
    facet::ChangedSlice asked{.stage = kLogits};
    with_context([&](PanelContext& context) {
        EXPECT_TRUE(difference(context).empty()) << "nothing is subtracted in the frame, and no old numbers are shown";
        asked.change = {.minus = context.states.pinned_a, .minus_stage = kLogits, .minus_head = 0};
    });
    session->wait_for({session->states().shown, asked});
    with_context([&](PanelContext& context) {
        const Matrix found = difference(context);
        ASSERT_FALSE(found.empty());
        EXPECT_NE(found.data.key, key);
        EXPECT_EQ(found.at(7, 3),
                  trace().find(kLogits)->value(0, 7, 3) - computed(context.states.pinned_a)->trace->find(kLogits)->value(0, 7, 3));
    });
}

TEST_F(LargeMatrix, OneHotRowsNeedNoMemory) {
    open_large_vocabulary();
    const Matrix rows =
        ask([](const NumberDesk& numbers, const Subject& shown) { return numbers.one_hot(shown, {Stage::TokenEmbedding}, 0); });
    const TokenBatch& tokens = trace().tokens;
    for (std::int64_t t = 0; t < tokens.length; ++t)
        for (std::int64_t v = 0; v < 500; ++v)
            EXPECT_EQ(rows.at(t, v), tokens.ids[static_cast<std::size_t>(t)] == v ? 1.F : 0.F) << t << ' ' << v;
    EXPECT_EQ(rows.data.values, nullptr);
}

}  // namespace
}  // namespace attn::app::test
