/// Comparing an opened model's weights with another file's: agreement with the engine, single numbers, and computation in the background.

#include "app/session/values/weights_beside.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "app/session/document/document_json.hpp"
#include "app/session/document/model_document.hpp"
#include "app/session/session.hpp"
#include "engine/precision/compare_weights.hpp"
#include "engine/tensor/error.hpp"
#include "tests/support/coarser_model.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::app::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const fs::path kOtherSizes = fs::path(ATTN_TEST_DATA) / "golden/hf/gpt2_hub";

TEST(WeightsBeside, AreWhatTheEngineSays) {
    const attn::test::TemporaryFolder folder;
    const auto model = OpenedModel::open(attn::test::fine_model());
    std::size_t told = 0;
    const WeightsBeside beside = weights_beside(*model, attn::test::coarser_model(folder.path()),
                                                [&](const WeightsBeside& so_far, std::size_t) {
                                                    ASSERT_NE(so_far.other, nullptr);
                                                    EXPECT_EQ(so_far.errors.parameters.size(), told++)
                                                        << "first what there is, then every parameter";
                                                },
                                                {});
    const WeightComparison expected = compare_weights(model->folder(), beside.other->folder());
    ASSERT_EQ(beside.errors.parameters.size(), expected.parameters.size());
    EXPECT_EQ(told, expected.parameters.size() + 1);
    EXPECT_EQ(beside.errors.relative, expected.relative);
    EXPECT_GT(beside.errors.relative, 0);
}

TEST(WeightsBeside, ShowEveryNumber) {
    const attn::test::TemporaryFolder folder;
    const auto a = OpenedModel::open(attn::test::fine_model()), b = OpenedModel::open(attn::test::coarser_model(folder.path()));
    const auto left = a->parameters(), right = b->parameters();
    const std::string name = "layers.0.ffn.in.weight";
    const MatrixView x = left->view(name), y = right->view(name);
    for (const auto& [row, column] : {std::pair<std::int64_t, std::int64_t>{0, 0}, {17, 33}, {x.columns - 1, x.rows - 1}}) {
        const WeightNumbers numbers = numbers_beside(*a, *b, name, row, column);
        ASSERT_TRUE(numbers.has(row, column));
        EXPECT_EQ(numbers.first_column % 32, 0) << "a block stays whole";
        for (std::int64_t r = numbers.first_row; r < numbers.first_row + numbers.rows; ++r)
            for (std::int64_t c = numbers.first_column; c < numbers.first_column + numbers.columns; ++c) {
                const std::size_t at = numbers.at(r, c);
                EXPECT_EQ(static_cast<double>(numbers.a[at]), x.at(c, r)) << "a row is an output";
                EXPECT_EQ(static_cast<double>(numbers.b[at]), y.at(c, r));
                EXPECT_NEAR(numbers.difference[at], y.at(c, r) - x.at(c, r), 1e-7);
                EXPECT_EQ(numbers.packed_a[at] + numbers.packed_b[at], "") << "stored by themselves";
            }
        EXPECT_FALSE(numbers.has(numbers.first_row + numbers.rows, column));
    }
    EXPECT_THROW(numbers_beside(*a, *b, name, x.columns, 0), Error);
    EXPECT_THROW(numbers_beside(*a, *b, name, 0, -1), Error);
    EXPECT_THROW(numbers_beside(*a, *b, "nothing", 0, 0), Error);
}

TEST(WeightsBeside, AreAFacetAndSayInASentenceWhatIsWrong) {
    const attn::test::TemporaryFolder folder;
    const auto model = OpenedModel::open(attn::test::fine_model());
    Session session(document_of_model(model), [] {});
    const auto ask = [&](const fs::path& other) {
        const facet::WeightsBeside facet{model, other.string(), 0};
        return session.wait_for({nullptr, facet}).find(nullptr, facet);
    };
    const auto good = ask(attn::test::coarser_model(folder.path()));
    ASSERT_TRUE(good) << good.problem;
    const facet::WeightErrors map{model, good->other, "layers.0.ffn.in.weight"};
    const auto drawn = session.wait_for({nullptr, map}).find(nullptr, map);
    ASSERT_TRUE(drawn) << drawn.problem;
    EXPECT_EQ(drawn->rms.size(), static_cast<std::size_t>(drawn->map_rows * drawn->map_columns));
    const facet::WeightNumbers numbers{model, good->other, "layers.0.ffn.in.weight", 3, 4};
    EXPECT_TRUE(session.wait_for({nullptr, numbers}).find(nullptr, numbers));
    EXPECT_THAT(ask(kOtherSizes).problem, HasSubstr("this is a different model"));
    EXPECT_THAT(ask(folder / "nothing.gguf").problem, HasSubstr("nothing.gguf"));
    const std::string unfit = ask(fs::path(ATTN_TEST_DATA) / "golden/gpt2.safetensors").problem;
    EXPECT_NE(unfit, "");
    EXPECT_EQ(unfit.find('\n'), std::string::npos);
}

TEST(WeightsBeside, BothStatesAreShownOfOneText) {
    const attn::test::TemporaryFolder folder;
    const auto a = OpenedModel::open(attn::test::fine_model()), b = OpenedModel::open(attn::test::coarser_model(folder.path()));
    Session session(document_of_model(a), [] {});
    const StateRef before = session.wait()->state;
    session.apply({command::ShowBeside{b}, ""});
    EXPECT_EQ(session.message(), "");
    const auto shown = session.wait();
    EXPECT_EQ(shown->state->setup->model, b);
    EXPECT_EQ(shown->state->setup->texts, before->setup->texts);
    ASSERT_TRUE(session.document().pins.a);
    EXPECT_EQ(*session.document().pins.a, *before);
    session.apply({command::Undo{}, ""});
    EXPECT_EQ(session.document().model, a) << "one step takes it back";
    EXPECT_FALSE(session.document().pins.a);
}

TEST(WeightsBeside, TheOtherModelReadsWhatIsTyped) {
    const attn::test::TemporaryFolder folder;
    const auto a = OpenedModel::open(attn::test::fine_model()), b = OpenedModel::open(attn::test::coarser_model(folder.path()));
    Session session(document_of_model(a), [] {});
    const StateRef before = session.wait()->state;
    session.apply({command::ShowBeside{b}, ""});
    session.wait();
    session.apply({command::SetTexts{{"b a"}, {}}, ""});
    const auto shown = session.wait();
    ASSERT_EQ(shown->state->setup->texts, std::vector<std::string>{"b a"});
    const StateRef beside = session.states().pinned_a;
    ASSERT_NE(beside, nullptr);
    EXPECT_EQ(beside->setup->texts, shown->state->setup->texts);
    EXPECT_EQ(beside->setup->model, a);
    EXPECT_TRUE(document_from_json(document_to_json(session.document()), "a document").pins.a_reads_along);
    session.apply({command::Undo{}, ""});
    session.wait();
    EXPECT_EQ(session.states().pinned_a, before);
    session.apply({command::Pin{false, before}, ""});
    session.apply({command::SetTexts{{"b a"}, {}}, ""});
    session.wait();
    EXPECT_EQ(session.states().pinned_a, before) << "a state that the user pins stays";
}

TEST(WeightsBeside, WhatWasWrittenIsShownOfBoth) {
    const attn::test::TemporaryFolder folder;
    const auto a = OpenedModel::open(attn::test::fine_model()), b = OpenedModel::open(attn::test::coarser_model(folder.path()));
    Session session(document_of_model(a), [] {});
    session.apply({command::WriteToken{0, 4, 0.1, 0}, ""});
    const auto first = session.wait();
    const StateRef before = first->state;
    ASSERT_EQ(before->setup->written.ids, std::vector<std::int32_t>{4});
    session.apply({command::ShowBeside{b}, ""});
    const auto shown = session.wait();
    EXPECT_EQ(shown->state->setup->model, b);
    EXPECT_EQ(shown->state->setup->written, before->setup->written);
    EXPECT_EQ(shown->trace->tokens.ids, first->trace->tokens.ids);
    EXPECT_EQ(session.document().writing.tokens.size(), 1U);
}

}  // namespace
}  // namespace attn::app::test
