// Knock-out: removed heads against a model whose W_O lacks their rows, replaced parts against traces whose numbers are set one by one.
#include "engine/model/knock_out.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/model/outline.hpp"
#include "engine/model/replaced_parts.hpp"
#include "engine/model/transformer.hpp"
#include "engine/tensor/error.hpp"
#include "tests/engine/outlined_models.hpp"
#include "tests/support/random_model.hpp"

namespace attn {
namespace {

using testing_support::RandomModel;

const auto kQuietly = [](const KnockOut&, std::size_t) {};

/// How far the float product may be from its expected value.
bool near(double value, double expected) { return std::abs(value - expected) <= 2e-5 + 1e-4 * std::abs(expected); }

/// The mean of -log softmax of the next token, or for an encoder of the token itself, by plain loops over a trace's logits.
double loss_of(const Trace<float>& trace, std::optional<std::int64_t> only = {}) {
    const Tensor<float>* logits = nullptr;
    for (const auto& stage : trace.stages)
        if (stage.id.stage == Stage::Logits) logits = &stage.value;
    double sum = 0;
    int counted = 0;
    const int ahead = trace.config.architecture == Architecture::Encoder ? 0 : 1;
    for (std::int64_t b = only.value_or(0); b < (only ? *only + 1 : trace.tokens.size()); ++b)
        for (std::int64_t t = 0; t + ahead < trace.tokens.lengths[static_cast<std::size_t>(b)]; ++t, ++counted) {
            double total = 0;
            for (std::int64_t v = 0; v < trace.config.vocab_size; ++v) total += std::exp(static_cast<double>((*logits)(b, t, v)));
            const std::int32_t next = trace.tokens.ids[static_cast<std::size_t>(b * trace.tokens.length + t + ahead)];
            sum += std::log(total) - static_cast<double>((*logits)(b, t, next));
        }
    return counted > 0 ? sum / counted : 0;
}

/// The probability, or the difference of the two logits, from a trace's numbers.
double answer_of(const Trace<float>& trace, const KnockOutQuestion::Place& place) {
    const auto number = [&](const StageId& id, std::int32_t token) {
        return static_cast<double>(trace.find(id)->value(place.sequence, place.position, token));
    };
    if (!place.against) return number({Stage::Probabilities, -1, trace.plan->logits().stack}, place.token);
    return number(trace.plan->logits(), place.token) - number(trace.plan->logits(), *place.against);
}

/// The measured parts are listed by the size of their change, and every part stands in a cell of its own, with its change.
void expect_in_order_and_in_grid(const KnockOut& found) {
    std::vector<bool> listed(found.parts.size());
    for (std::size_t i = 0; i < found.strongest.size(); ++i) {
        const PartWorth& part = found.parts[found.strongest[i]];
        EXPECT_TRUE(part.measured);
        EXPECT_FALSE(listed[found.strongest[i]]) << "listed twice";
        listed[found.strongest[i]] = true;
        const double change = std::abs(part.without - found.with_all);
        const double before = i == 0 ? HUGE_VAL : std::abs(found.parts[found.strongest[i - 1]].without - found.with_all);
        EXPECT_FALSE(change > before);
    }
    const WorthGrid& grid = found.grid;
    ASSERT_EQ(grid.parts.size(), static_cast<std::size_t>(grid.rows * grid.columns));
    std::size_t placed = 0;
    for (std::int64_t row = 0; row < grid.rows; ++row)
        for (std::int64_t column = 0; column < grid.columns; ++column) {
            const auto cell = static_cast<std::size_t>(row * grid.columns + column);
            if (grid.parts[cell] == WorthGrid::kNoPart) continue;
            const auto index = static_cast<std::size_t>(grid.parts[cell]);
            const PartWorth& part = found.parts[index];
            EXPECT_EQ(part.row, row);
            EXPECT_EQ(part.column, column);
            EXPECT_EQ(part.measured, listed[index]);
            EXPECT_EQ(part.measured, grid.measured[cell] != 0);
            const auto change = static_cast<float>(part.without - found.with_all);
            EXPECT_TRUE(grid.changes[cell] == (part.measured ? change : 0) || std::isnan(change));
            EXPECT_FALSE(std::isfinite(grid.changes[cell]) && std::abs(grid.changes[cell]) > grid.reach);
            ++placed;
        }
    EXPECT_EQ(placed, found.parts.size());
}

/// The model with the rows of W_O for one head set to 0.
Trace<float> without_head(const Trace<float>& trace, const PartWorth& head) {
    auto parameters = std::make_shared<Parameters<float>>(*trace.parameters);
    const std::string stack = head.stage.stack == Stack::Encoder ? "encoder." : head.stage.stack == Stack::Decoder ? "decoder." : "";
    const ParameterInfo* out =
        parameters->layout().find(stack + "layers." + std::to_string(head.stage.layer) + "." +
                                  (head.stage.attention == kCrossAttention ? "cross_attention" : "attention") + ".out.weight");
    const std::int64_t size = trace.config.head_size();
    for (std::int64_t row = head.index * size; row < (head.index + 1) * size; ++row)
        for (std::int64_t column = 0; column < trace.config.d_model; ++column)
            parameters->data()[out->offset + row * trace.config.d_model + column] = 0;
    return trace_forward<float>(std::move(parameters), trace.tokens, trace.source_tokens, trace.settings);
}

TEST(KnockOut, AgreesWithModelsWhoseOutputProjectionLacksTheHead) {
    int compared = 0, larger = 0;
    for (unsigned seed = 0; seed < 80; ++seed) {
        RandomModel model(seed);
        if (!model.config.lm_head || !model.config.output_projection || model.tokens.ids.empty()) continue;
        const Trace<float> trace = model.trace<float>();
        const KnockOutQuestion::Place place{model.between(0, trace.tokens.size() - 1), model.between(0, trace.tokens.length - 1),
                                            static_cast<std::int32_t>(model.between(0, trace.config.vocab_size - 1))};
        const KnockOut loss = knock_out(trace, {}, kQuietly), chance = knock_out(trace, {place}, kQuietly);
        ASSERT_TRUE(near(loss.with_all, loss_of(trace))) << seed;
        ASSERT_TRUE(near(chance.with_all, answer_of(trace, place))) << seed;
        ASSERT_EQ(loss.parts.size(), chance.parts.size());
        ASSERT_FALSE(loss.parts.empty());
        for (std::size_t i = 0; i < loss.parts.size(); ++i) {
            const Trace<float> without = without_head(trace, loss.parts[i]);
            ASSERT_TRUE(near(loss.parts[i].without, loss_of(without))) << seed << " " << tensor_name(loss.parts[i].stage);
            ASSERT_TRUE(near(chance.parts[i].without, answer_of(without, place))) << seed;
            ++compared;
            larger += std::abs(loss.parts[i].without - loss.with_all) > 1e-3 ? 1 : 0;
        }
    }
    EXPECT_GT(compared, 100);
    EXPECT_GT(larger, 20) << "heads that matter, or nothing was shown";
}

/// The trace with every number of the part set to zero.
Trace<float> without_block(const Trace<float>& trace, const PartWorth& part) {
    ForwardSettings settings = trace.settings;
    settings.edits.push_back({.kind = EditKind::Set, .at = part.stage, .value = 0});
    return trace_forward<float>(trace.parameters, trace.tokens, trace.source_tokens, settings);
}

/// What the layers add to their stream, by the plan: the operands of its sums besides the stream itself.
std::vector<StageId> added_stages(const Plan& plan) {
    std::vector<StageId> added;
    for (const PlanNode& node : plan.nodes())
        if (node.op == Op::Add && node.id.layer >= 0) added.insert(added.end(), node.inputs.begin() + 1, node.inputs.end());
    return added;
}

/// Every attention and feed-forward network is among the blocks, under the name of what it adds.
/// Of several texts, the loss of one is that of a trace's logits in it alone.
TEST(KnockOut, MeasuresTheLossOfOneTextOfSeveral) {
    int compared = 0, different = 0;
    for (unsigned seed = 0; seed < 80; ++seed) {
        RandomModel model(seed);
        if (!model.config.lm_head || !model.config.output_projection || model.tokens.size() < 2) continue;
        const Trace<float> trace = model.trace<float>();
        for (std::int64_t text = 0; text < trace.tokens.size(); ++text) {
            const KnockOut worth = knock_out(trace, {.text = text}, kQuietly);
            EXPECT_TRUE(near(worth.with_all, loss_of(trace, text))) << seed;
            EXPECT_TRUE(near(worth.parts.back().without, loss_of(without_head(trace, worth.parts.back()), text))) << seed;
            if (!near(worth.with_all, loss_of(trace))) ++different;
            ++compared;
        }
        EXPECT_THROW(knock_out(trace, {.text = trace.tokens.size()}, kQuietly), Error);
    }
    EXPECT_GT(compared, 20);
    EXPECT_GT(different, 10);
}

TEST(KnockOut, OfBlocksAgreesWithTracesInWhichTheyAddNothing) {
    int compared = 0, larger = 0, networks = 0, unprojected = 0, normed = 0, by_plan = 0;
    for (unsigned seed = 0; seed < 60; ++seed) {
        RandomModel model(seed);
        model.unruly = false;
        if (!model.config.lm_head || model.tokens.ids.empty()) continue;
        const bool sandwich = model.config.norm == NormPlacement::Pre && model.config.architecture != Architecture::EncoderDecoder;
        if (sandwich && model.coin()) model.config.norm = NormPlacement::Sandwich;
        const Trace<float> trace = model.trace<float>();
        KnockOutQuestion::Place place{model.between(0, trace.tokens.size() - 1), model.between(0, trace.tokens.length - 1),
                                      static_cast<std::int32_t>(model.between(0, trace.config.vocab_size - 1))};
        if (model.coin()) place.against = static_cast<std::int32_t>(model.between(0, trace.config.vocab_size - 1));
        const KnockOut found = knock_out(trace, {.place = place, .parts = ReplacedParts::Blocks}, kQuietly);
        ASSERT_TRUE(near(found.with_all, answer_of(trace, place))) << seed;
        expect_in_order_and_in_grid(found);
        EXPECT_LE(found.grid.columns, 3) << "attention, feed-forward and cross-attention";
        const std::vector<StageId> added = added_stages(*trace.plan);
        if (!added.empty()) {
            ASSERT_EQ(found.parts.size(), added.size()) << seed;
            for (const PartWorth& part : found.parts)
                ASSERT_NE(std::find(added.begin(), added.end(), part.stage), added.end()) << seed << " " << tensor_name(part.stage);
            ++by_plan;
        }
        for (const PartWorth& part : found.parts) {
            networks += part.stage.stage == Stage::FfnOut ? 1 : 0;
            normed += part.stage.stage == Stage::FfnNorm || part.stage.stage == Stage::AttentionNorm ? 1 : 0;
            unprojected += part.stage.stage == Stage::Concat ? 1 : 0;
            const double expected = answer_of(without_block(trace, part), place);
            ASSERT_TRUE(near(part.without, expected))
                << seed << " " << tensor_name(part.stage) << ": " << part.without << ", expected " << expected;
            ++compared;
            larger += std::abs(part.without - found.with_all) > 1e-3 ? 1 : 0;
        }
    }
    EXPECT_GT(compared, 100);
    EXPECT_GT(larger, 20) << "blocks that matter, or nothing was shown";
    EXPECT_GT(networks, 20);
    EXPECT_GT(unprojected, 5) << "attentions without W_O";
    EXPECT_GT(normed, 5) << "results that are normed before they are added";
    EXPECT_GT(by_plan, 20);
}

TEST(KnockOut, CountsAnEditThatRemovedTheHeadAlready) {
    RandomModel model(4);
    while (!model.config.lm_head || model.tokens.ids.empty()) model = RandomModel(static_cast<unsigned>(model.between(5, 5000)));
    const Trace<float> plain = model.trace<float>();
    const KnockOut before = knock_out(plain, {}, kQuietly);
    model.settings.edits.push_back({.kind = EditKind::Scale, .at = before.parts[0].stage, .head = before.parts[0].index});
    const KnockOut after = knock_out(model.trace<float>(), {}, kQuietly);
    EXPECT_EQ(after.with_all, before.parts[0].without);
    EXPECT_EQ(after.parts[0].without, after.with_all);
}

TEST(KnockOut, OfALongTextIsMeasuredInRowsAndSaysTheSame) {
    RandomModel model = testing_support::growing_model(2, 370);
    model.unruly = false;
    model.config.num_layers = 2;
    model.config.num_heads = 8;
    model.config.num_kv_heads = 0;
    model.config.d_head = 0;
    model.config.d_model = 32;
    model.config.lm_head = true;
    model.config.context_length = 370;
    model.config.vocab_size = 5000;  // more logit rows than are computed at a time
    if (model.config.position == PositionKind::Buckets) model.config.position = PositionKind::Rotary;
    model.settings.edits.push_back({.kind = EditKind::Scale, .at = {Stage::Weights, 0}, .head = 3, .row = 362, .value = 0.5});
    const auto parameters = std::make_shared<const Parameters<float>>(model.parameters<float>());
    const Trace<float> whole = trace_forward<float>(parameters, model.tokens, {}, model.settings),
                       outline = trace_outline<float>(parameters, model.tokens, {}, model.settings);
    ASSERT_FALSE(knocks_out_in_rows(whole));
    ASSERT_TRUE(knocks_out_in_rows(outline));
    const KnockOutQuestion::Place place{0, 360, 1};
    for (const KnockOutQuestion& question : {KnockOutQuestion{}, KnockOutQuestion{place}}) {
        const KnockOut expected = knock_out(whole, question, kQuietly), found = knock_out(outline, question, kQuietly);
        EXPECT_TRUE(near(found.with_all, expected.with_all));
        ASSERT_EQ(found.parts.size(), expected.parts.size());
        for (std::size_t i = 0; i < found.parts.size(); ++i) {
            EXPECT_EQ(found.parts[i].stage, expected.parts[i].stage);
            EXPECT_TRUE(found.parts[i].measured);
            EXPECT_TRUE(near(found.parts[i].without, expected.parts[i].without)) << i;
        }
    }
    ForwardSettings edited_behind = model.settings;
    edited_behind.edits.push_back({.at = outline.plan->logits(), .row = 2, .column = 0, .value = 3});
    EXPECT_FALSE(knocks_out_in_rows(trace_outline<float>(parameters, model.tokens, {}, edited_behind))) << "which a lens leaves out";
}

/// The norm of what a head adds to the residual stream over all positions: its context times its rows of W_O, by plain loops.
double addition_of(const Trace<float>& trace, const PartWorth& head) {
    const Tensor<float>& context = trace.find(head.stage)->value;
    const std::string stack = head.stage.stack == Stack::Encoder ? "encoder." : head.stage.stack == Stack::Decoder ? "decoder." : "";
    const MatrixView out =
        trace.parameters->view(stack + "layers." + std::to_string(head.stage.layer) + "." +
                               (head.stage.attention == kCrossAttention ? "cross_attention" : "attention") + ".out.weight");
    const std::int64_t size = trace.config.head_size();
    double squares = 0;
    for (std::int64_t b = 0; b < context.shape()[0].size; ++b)
        for (std::int64_t t = 0; t < context.shape()[2].size; ++t)
            for (std::int64_t column = 0; column < trace.config.d_model; ++column) {
                double sum = 0;
                for (std::int64_t d = 0; d < size; ++d)
                    sum += static_cast<double>(context(b, head.index, t, d)) * out.at(head.index * size + d, column);
                squares += sum * sum;
            }
    return std::sqrt(squares);
}

TEST(KnockOut, TellsTheHeadsThatAddMostFirstAndInTheEndTheSame) {
    int told = 0;
    for (unsigned seed = 0; seed < 60; ++seed) {
        RandomModel model(seed);
        if (!model.config.lm_head || !model.config.output_projection || model.tokens.ids.empty()) continue;
        const Trace<float> trace = model.trace<float>();
        std::vector<PartWorth> before;
        std::vector<double> additions;
        double with_all = 0;
        const auto each = [&](const KnockOut& so_far, std::size_t done) {
            ASSERT_EQ(std::count_if(so_far.parts.begin(), so_far.parts.end(), [](const PartWorth& head) { return head.measured; }),
                      static_cast<std::ptrdiff_t>(done));
            expect_in_order_and_in_grid(so_far);
            with_all = so_far.with_all;
            for (std::size_t i = 0; i < so_far.parts.size() && !before.empty(); ++i)
                if (so_far.parts[i].measured && !before[i].measured) additions.push_back(addition_of(trace, so_far.parts[i]));
            before = so_far.parts;
            ++told;
        };
        const KnockOut worth = knock_out(trace, {}, each);
        EXPECT_EQ(worth.parts, before) << "the last one told is what is returned";
        EXPECT_EQ(worth.with_all, with_all);
        ASSERT_EQ(additions.size(), worth.parts.size());
        EXPECT_TRUE(worth.whole());
        EXPECT_EQ(worth.grid.columns, trace.config.num_heads);
        for (std::size_t i = 1; i < additions.size(); ++i) EXPECT_LE(additions[i], additions[i - 1] * 1.0001 + 1e-6) << seed;
        for (std::size_t i = 1; i < worth.parts.size(); ++i)
            EXPECT_TRUE(worth.parts[i].index == worth.parts[i - 1].index + 1 || worth.parts[i].index == 0) << "in the order of the plan";
    }
    EXPECT_GT(told, 100);
}

/// The trace with the part's numbers in one text set one by one to those of another, where both have words.
Trace<float> with_numbers_of(const Trace<float>& trace, const PartWorth& part, const KnockOutQuestion& question) {
    const Tensor<float>& value = trace.find(part.stage)->value;
    const bool head = value.shape().rank() == 4, block = question.parts == ReplacedParts::Blocks;
    ForwardSettings settings = trace.settings;
    const auto [from, into] = *question.patch;
    const TokenBatch& tokens = part.stage.stack == Stack::Encoder ? trace.source_tokens : trace.tokens;
    const auto length = [&](std::int64_t text) { return tokens.lengths[static_cast<std::size_t>(text)]; };
    for (std::int64_t t = 0; t < std::min(length(from), length(into)); ++t) {
        if (!head && !block && t != part.index) continue;
        for (std::int64_t c = 0; c < value.shape()[head ? 3 : 2].size; ++c) {
            const float number = head ? value(from, part.index, t, c) : value(from, t, c);
            settings.edits.push_back({.kind = EditKind::Set,
                                      .at = part.stage,
                                      .sequence = into,
                                      .head = head ? part.index : Edit::kAll,
                                      .row = t,
                                      .column = c,
                                      .value = static_cast<double>(number)});
        }
    }
    return trace_forward<float>(trace.parameters, trace.tokens, trace.source_tokens, settings);
}

TEST(KnockOut, OfAnotherTextsPartsAgreesWithTracesWhoseNumbersAreSetOneByOne) {
    int compared = 0, different = 0, behind = 0, shorter = 0;
    for (unsigned seed = 0; seed < 400; ++seed) {
        RandomModel model(seed);
        model.unruly = false;
        if (!model.config.lm_head || model.tokens.size() < 2) continue;
        const Trace<float> trace = model.trace<float>();
        const std::int64_t from = model.between(0, trace.tokens.size() - 1), sequence = from == 0 ? 1 : 0;
        KnockOutQuestion question;
        question.patch = {from, sequence};
        question.parts = static_cast<ReplacedParts>(seed % 5);
        if (model.coin(0.7))
            question.place = {sequence, model.coin() ? 0 : model.between(0, trace.tokens.lengths[static_cast<std::size_t>(sequence)] - 1),
                              static_cast<std::int32_t>(model.between(0, trace.config.vocab_size - 1))};
        if (question.place && model.coin())
            question.place->against = static_cast<std::int32_t>(model.between(0, trace.config.vocab_size - 1));
        const auto answer = [&](const Trace<float>& of) { return question.place ? answer_of(of, *question.place) : loss_of(of, sequence); };
        const KnockOut found = knock_out(trace, question, kQuietly);
        expect_in_order_and_in_grid(found);
        ASSERT_TRUE(near(found.with_all, answer(trace))) << seed;
        const bool same_place = question.place && question.place->position < trace.tokens.lengths[static_cast<std::size_t>(from)];
        ASSERT_EQ(found.in_other_text.has_value(), same_place);
        if (same_place) {
            KnockOutQuestion::Place there = *question.place;
            there.sequence = from;
            ASSERT_TRUE(near(*found.in_other_text, answer_of(trace, there))) << seed;
        }
        shorter += trace.tokens.lengths[static_cast<std::size_t>(from)] < trace.tokens.lengths[static_cast<std::size_t>(sequence)] ? 1 : 0;
        for (std::size_t i = seed % 3; i < found.parts.size(); i += 3) {  // a trace takes a while
            const PartWorth& part = found.parts[i];
            const double expected = answer(with_numbers_of(trace, part, question));
            ASSERT_TRUE(near(part.without, expected)) << seed << " " << tensor_name(part.stage) << " " << part.index << ": " << part.without
                                                      << ", expected " << expected << ", unchanged " << found.with_all;
            ++compared;
            different += std::abs(part.without - found.with_all) > 1e-3 ? 1 : 0;
            behind += question.place && at_positions(question.parts) && part.index > question.place->position ? 1 : 0;
        }
    }
    EXPECT_GT(compared, 150);
    EXPECT_GT(different, 30) << "parts that matter, or nothing was shown";
    EXPECT_GT(behind, 10);
    EXPECT_GT(shorter, 10) << "texts whose padding must not be taken";
}

/// By the loss, so that every position counts.
TEST(KnockOut, TellsThePartsFirstThatDifferMostFromTheOtherText) {
    int differences = 0;
    for (unsigned seed = 0; seed < 100; ++seed) {
        RandomModel model(seed);
        model.unruly = false;
        if (!model.config.lm_head || model.tokens.size() < 2) continue;
        const Trace<float> trace = model.trace<float>();
        KnockOutQuestion question;
        question.patch = {0, 1}, question.parts = ReplacedParts::Positions;
        std::vector<PartWorth> before;
        double last = HUGE_VAL;
        knock_out(trace, question, [&](const KnockOut& so_far, std::size_t) {
            for (std::size_t i = 0; i < before.size(); ++i) {
                if (so_far.parts[i].measured == before[i].measured) continue;
                const Tensor<float>& stream = trace.find(so_far.parts[i].stage)->value;
                double change = 0, own = 0;
                for (std::int64_t c = 0; c < stream.shape()[2].size; ++c) {
                    const auto t = so_far.parts[i].index;
                    change += std::pow(static_cast<double>(stream(1, t, c)) - static_cast<double>(stream(0, t, c)), 2);
                    own += std::pow(static_cast<double>(stream(1, t, c)), 2);
                }
                EXPECT_LE(change / own, last * 1.0001 + 1e-6) << seed;
                last = change / own;
                ++differences;
            }
            before = so_far.parts;
        });
    }
    EXPECT_GT(differences, 100);
}

/// The difference of two texts cannot matter before it begins; nothing is rounded differently.
TEST(KnockOut, BeforeTheTextsDifferNothingChanges) {
    Config config;
    config.num_layers = 2, config.num_heads = 2, config.d_model = 8, config.vocab_size = 9, config.lm_head = true;
    const auto parameters = std::make_shared<const Parameters<float>>(initial_parameters<float>(config));
    const TokenBatch tokens{5, {1, 2, 3, 4, 5, 1, 2, 3, 7, 5}, {5, 5}};
    ForwardSettings settings;
    settings.masks.causal = true;
    const Trace<float> trace = trace_forward<float>(parameters, tokens, {}, settings);
    for (const ReplacedParts parts : {ReplacedParts::Heads, ReplacedParts::Blocks, ReplacedParts::Positions,
                                      ReplacedParts::AttentionPositions, ReplacedParts::FeedForwardPositions})
        for (const std::int64_t position : {2, 3}) {
            const KnockOut found =
                knock_out(trace, {.place = KnockOutQuestion::Place{0, position, 6}, .parts = parts, .patch = {{1, 0}}}, kQuietly);
            const bool changed =
                std::any_of(found.parts.begin(), found.parts.end(), [&](const PartWorth& part) { return part.without != found.with_all; });
            EXPECT_EQ(changed, position == 3);
            EXPECT_TRUE(near(found.with_all, answer_of(trace, {0, position, 6})));
        }
}

TEST(KnockOut, RefusesWhatCannotBeMeasured) {
    RandomModel model(4);
    while (!model.config.lm_head || model.tokens.ids.empty()) model = RandomModel(static_cast<unsigned>(model.between(5, 5000)));
    const Trace<float> trace = model.trace<float>();
    EXPECT_THROW(knock_out(trace, {KnockOutQuestion::Place{trace.tokens.size(), 0, 0}}, kQuietly), Error);
    EXPECT_THROW(knock_out(trace, {KnockOutQuestion::Place{0, -1, 0}}, kQuietly), Error);
    EXPECT_THROW(knock_out(trace, {KnockOutQuestion::Place{0, 0, static_cast<std::int32_t>(trace.config.vocab_size)}}, kQuietly), Error);
    EXPECT_THROW(knock_out(trace, {KnockOutQuestion::Place{0, 0, 0, static_cast<std::int32_t>(trace.config.vocab_size)}}, kQuietly), Error);
    for (const ReplacedParts parts : {ReplacedParts::Positions, ReplacedParts::AttentionPositions, ReplacedParts::FeedForwardPositions})
        EXPECT_THROW(knock_out(trace, {.parts = parts}, kQuietly), ConfigError) << "zeros are no other text's";
    EXPECT_THROW(knock_out(trace, {.patch = {{trace.tokens.size(), 0}}}, kQuietly), Error);
    EXPECT_THROW(knock_out(trace, {.patch = {{0, 0}}}, kQuietly), ConfigError) << "the same text";
    Trace<float> headless = trace;
    headless.config.lm_head = false;
    EXPECT_THROW(knock_out(headless, {}, kQuietly), ConfigError);
    std::stop_source stop;
    stop.request_stop();
    EXPECT_THROW(knock_out(trace, {}, kQuietly, stop.get_token()), Cancelled);
}

}  // namespace
}  // namespace attn
