/// Lines, totals, logit lens and histogram: what they draw, and mouse input.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "app/panels/actions/actions.hpp"
#include "app/panels/compare/comparison.hpp"
#include "app/panels/frame/frame.hpp"
#include "app/panels/kit/labels.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/views/token_lines.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/numbers/number_desk.hpp"
#include "app/session/session.hpp"
#include "app/session/values/knock_out.hpp"
#include "app/session/values/map_tensors.hpp"
#include "app/session/values/readings.hpp"
#include "app/session/values/statistics.hpp"
#include "app/session/values/strong_cells.hpp"
#include "app/widgets/tensor_stats.hpp"
#include "app/widgets/text.hpp"
#include "tests/support/interface_fixture.hpp"
#include "tests/support/item_finder.hpp"

namespace attn::app::test {
namespace {

TEST(LinesView, ClickTogglesAndDoubleClickIsolates) {
    LinesView lines;
    const auto click = [&](std::int64_t head) { lines.toggle(head); };
    // A double-click begins with a click.
    const auto double_click = [&](std::int64_t head) {
        lines.toggle(head);
        lines.isolate(head, 4);
    };
    click(1);
    EXPECT_EQ(lines.hidden, (std::set<std::int64_t>{1}));
    click(1);
    EXPECT_TRUE(lines.hidden.empty());
    double_click(2);
    EXPECT_EQ(lines.hidden, (std::set<std::int64_t>{0, 1, 3}));
    double_click(2);
    EXPECT_TRUE(lines.hidden.empty()) << "again: all are back";
    double_click(2);
    double_click(0);
    EXPECT_EQ(lines.hidden, (std::set<std::int64_t>{1, 2, 3}));
    click(3);
    EXPECT_TRUE(lines.shows(3));
    EXPECT_TRUE(lines.shows(0));
}

/// Two queries and three keys: 0.5 0.25 0.25 and 0.001 masked 0.9.
TokenLines small_picture(std::vector<float>& values, std::vector<std::uint8_t>& keep) {
    values = {0.5F, 0.25F, 0.25F, 0.001F, 0.7F, 0.9F};
    keep = {1, 1, 1, 1, 0, 1};
    TokenLines picture;
    Matrix m;
    m.data = {1, values.data(), 2, 3, 3, keep.data()};
    picture.maps.push_back({m, 0, 0xFFFFFFFF, "head 0"});
    picture.keys = {3, [](std::int64_t i) { return std::string(1, "abc"[i]); }};
    picture.queries = {2, [](std::int64_t i) { return std::string(1, "xy"[i]); }};
    return picture;
}

TEST(TokenLines, AreTheStrongCellsThatAreNotMasked) {
    std::vector<float> values;
    std::vector<std::uint8_t> keep;
    const TokenLines picture = small_picture(values, keep);
    const Matrix& map = picture.maps[0].weights;
    const NumberGrid grid{values.data(), 2, 3, 3, keep.data()};
    const auto strongest = [&](std::size_t most) {
        StrongestCells cells(most);
        cells.add(7, grid);
        return cells.take();
    };
    const StrongCells all = strongest(100);
    ASSERT_EQ(all.at_least(0.01F).size(), 4U);
    EXPECT_EQ(all.least(0.01F), 0.01F);
    EXPECT_TRUE(std::is_sorted(all.cells.begin(), all.cells.end(), [](const MapCell& a, const MapCell& b) { return a.value < b.value; }));
    EXPECT_EQ(all.cells.back().head, 7);
    EXPECT_EQ(all.cells.back().row, 1);
    EXPECT_EQ(all.cells.back().col, 2);
    EXPECT_EQ(all.at_least(0.3F).size(), 2U);
    EXPECT_EQ(all.at_least(map.at(1, 2)).size(), 1U) << "that of exactly the threshold, too";
    EXPECT_TRUE(all.at_least(2).empty());
    // Of too many, the strongest are kept.
    const StrongCells few = strongest(2);
    ASSERT_EQ(few.at_least(0.01F).size(), 2U);
    EXPECT_EQ(few.least(0.01F), 0.5F);
    EXPECT_EQ(few.least(0.6F), 0.6F);
    EXPECT_TRUE(strongest(0).cells.empty());
    values[0] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(strongest(100).at_least(0.01F).size(), 3U) << "a weight that is no number has no strength";
}

/// In whatever order they come, and however many are dropped on the way.
TEST(TokenLines, AreTheStrongestOfAll) {
    std::mt19937 random(3);
    for (const std::size_t most : {1U, 5U, 64U, 1000U}) {
        std::vector<MapCell> cells;
        for (std::int64_t i = 0; i < 500; ++i)
            cells.push_back({i % 3, i / 3, 0, static_cast<float>(std::uniform_int_distribution(0, 40)(random)) / 40});
        StrongestCells strongest(most);
        for (const MapCell& cell : cells) strongest.add(cell);
        const StrongCells found = strongest.take();
        std::sort(cells.begin(), cells.end(),
                  [](const MapCell& a, const MapCell& b) { return std::tie(a.value, a.head, a.row) < std::tie(b.value, b.head, b.row); });
        ASSERT_EQ(found.cells.size(), std::min(most, cells.size()));
        EXPECT_EQ(found.cut, most < cells.size());
        for (std::size_t i = 1; i <= found.cells.size(); ++i) {
            const MapCell &is = found.cells[found.cells.size() - i], &should = cells[cells.size() - i];
            EXPECT_EQ(std::tie(is.value, is.head, is.row), std::tie(should.value, should.head, should.row)) << most;
        }
    }
}

TEST(TokenLines, AreSearchedOnceForEveryPicture) {
    std::vector<float> values;
    std::vector<std::uint8_t> keep;
    const TokenLines picture = small_picture(values, keep);
    const Matrix& map = picture.maps[0].weights;
    const std::vector<MapOfHead> maps = {{&map, 0}}, twice = {{&map, 0}, {&map, 1}};
    Inquiry inquiry;
    NumberStore store;
    const NumberDesk numbers(inquiry, store, {}, {});
    const auto first = numbers.strongest(maps, 100);
    EXPECT_EQ(numbers.strongest(maps, 100), first);
    EXPECT_EQ(numbers.strongest(maps, 1)->cells.size(), 1U);
    EXPECT_EQ(numbers.strongest(twice, 100)->cells.size(), 2 * first->cells.size());
    store.begin_frame();
    EXPECT_EQ(numbers.strongest(maps, 100), first) << "as long as they are drawn in every frame";
    store.begin_frame();
    store.begin_frame();
    values.assign(values.size(), 0.5F);
    EXPECT_NE(numbers.strongest(maps, 100), first);
    // Another computation has other numbers, and so another key.
    Matrix other = map;
    ++other.data.key;
    values.assign(values.size(), 0);
    const std::vector<MapOfHead> others = {{&other, 0}};
    EXPECT_TRUE(numbers.strongest(others, 100)->at_least(0.01F).empty());
}

TEST(TokenLines, TheLastCellsStayUntilOthersAreFound) {
    constexpr std::int64_t kPositions = 600;  // too many cells for a frame
    const std::vector<float> values(kPositions * kPositions, 0.5F);
    NumberStore store;
    const auto state = std::make_shared<const State>(State{std::make_shared<const app::Setup>(), {}});
    Snapshot computation, another;
    computation.serial = 1, another.serial = 2;
    computation.trace = another.trace = std::make_shared<const Trace<float>>();
    const auto strongest = [&](const Snapshot& snapshot, const StageId& stage, std::int64_t sequence, Results::Facts facts) {
        Matrix map;
        map.data = {.key = 1, .values = values.data(), .rows = kPositions, .cols = kPositions, .row_stride = kPositions};
        map.of = NumbersOf{.of = {state, &snapshot}, .stage = stage, .sequence = sequence};
        const std::vector<MapOfHead> maps = {{&map, 0}};
        Inquiry inquiry{Results(std::move(facts))};
        return NumberDesk(inquiry, store, {state, &snapshot}, {}).strongest(maps, 9);
    };
    const StageId first{Stage::Weights, 0}, second{Stage::Weights, 1};
    EXPECT_EQ(strongest(computation, first, 0, {}), nullptr);
    const auto found = std::make_shared<const StrongCells>();
    auto fact = std::make_shared<Fact>();
    fact->request = {state, facet::StrongCells{.stage = first, .heads = {0}, .most = 9}};
    fact->value = found;
    EXPECT_EQ(strongest(computation, first, 0, {fact}), found);
    EXPECT_EQ(strongest(computation, first, 0, {}), found);
    EXPECT_EQ(strongest(computation, second, 0, {}), nullptr) << "of another layer";
    EXPECT_EQ(strongest(computation, first, 1, {}), nullptr) << "of another sequence";
    EXPECT_EQ(strongest(another, first, 0, {}), nullptr) << "of another computation";
}

TEST(TokenLines, FindsTheTokenUnderTheMouse) {
    const TokenColumns columns = token_columns({10, 20}, 400, 80, 16);
    EXPECT_EQ(token_at(columns, {15, 21}, 3, 2), (PointedToken{Axis::S, 0}));
    EXPECT_EQ(token_at(columns, {400, 20 + 16 * 1.5F}, 3, 2), (PointedToken{Axis::T, 1}));
    EXPECT_FALSE(token_at(columns, {400, 20 + 16 * 2.5F}, 3, 2)) << "there are two queries";
    EXPECT_TRUE(token_at(columns, {20, 20 + 16 * 2.5F}, 3, 2));
    EXPECT_FALSE(token_at(columns, {200, 30}, 3, 2)) << "between the columns";
    EXPECT_FALSE(token_at(columns, {20, 10}, 3, 2));
}

class TokenViews : public InterfaceFixture {
protected:
    TokenViews() { carry_out = false; }
};

TEST_F(TokenViews, EveryKeyOpensItsView) {
    open_example("causal-attention");
    for (const auto& [key, expected] :
         {std::pair("n", View::Lines), std::pair("o", View::Totals), std::pair("w", View::Lens), std::pair("s", View::Step)}) {
        type(key, ui_frame);
        EXPECT_EQ(view.view, expected) << key;
        frames(2, ui_frame);
    }
}

TEST_F(TokenViews, AChipSwitchesItsHeadOff) {
    open_example("gpt-tiny");
    view.view = View::Lines;
    frames(2, ui_frame);
    const int before = vertices();
    const ImGuiWindow* centre = find_window("##centre");
    ASSERT_NE(centre, nullptr);
    // The header, then the chips of heads 0 and 1 side by side.
    const float first = theme.px(32) + text_width(theme.fonts.label, "head 0");
    const ImVec2 at{centre->Pos.x + theme.px(24 + 6 + 10) + first, centre->Pos.y + theme.px(16 + 40 + 26 + 12)};
    click(at.x, at.y, ui_frame);
    EXPECT_EQ(view.lines.hidden, (std::set<std::int64_t>{1}));
    move_mouse(2, 2);
    frames(60, ui_frame);  // so that the next press does not become a double-click
    EXPECT_LT(vertices(), before) << "its lines are gone";
    move_mouse(at.x, at.y);
    frames(1, ui_frame);
    for (int press = 0; press < 2; ++press) {
        mouse_button(0, true);
        frames(1, ui_frame);
        mouse_button(0, false);
        frames(1, ui_frame);
    }
    EXPECT_FALSE(view.lines.hidden.contains(1));
    EXPECT_EQ(view.lines.hidden.size(), static_cast<std::size_t>(trace().config.num_heads) - 1) << "a double-click isolates";
}

TEST_F(TokenViews, LinesOfHeadsWithARepeatedColourAreDashed) {
    open_example("multi-head");
    std::vector<float> values;
    std::vector<std::uint8_t> keep;
    const auto drawn = [&](std::int64_t round) {
        frame([&] {
            ImGui::SetNextWindowSize({800, 300});
            ImGui::Begin("lines");
            with_context([&](PanelContext& context) {
                TokenLines picture = small_picture(values, keep);
                picture.labels = false;
                picture.maps[0].round = round;
                draw_token_lines(context, picture, token_columns({10, 30}, 600, 50, 40), {});
            });
            ImGui::End();
        });
        return vertices();
    };
    drawn(0);  // the window appears
    const int whole = drawn(0), dashes = drawn(1), dots = drawn(2);
    EXPECT_GT(dashes, whole);
    EXPECT_GT(dots, dashes);
}

TEST_F(TokenViews, OfALongTextOnlyTheNamesInSightAreMade) {
    open_example("multi-head");
    int made = 0;
    frames(2, [&] {
        ImGui::SetNextWindowSize({800, 300});
        ImGui::Begin("lines");
        with_context([&](PanelContext& context) {
            made = 0;
            TokenLines picture;
            picture.keys = picture.queries = {10000, [&](std::int64_t) {
                                                  ++made;
                                                  return std::string("word");
                                              }};
            draw_token_lines(context, picture, token_columns({10, 30}, 600, 50, 40), {});
        });
        ImGui::End();
    });
    EXPECT_GT(made, 8);
    EXPECT_LT(made, 40);
}

TEST_F(TokenViews, NothingIsMeasuredOfATextThatPredictsNothing) {
    open_example("gpt-tiny");
    const auto measured = [&](const std::string& text) {
        session->apply({command::SetTexts{{text}, {}}, ""});
        session->wait();
        view.view = View::KnockOut;
        frames(2, ui_frame);
        return session->results().find({session->states().shown, facet::KnockOut{{.text = 0}}}) != nullptr;
    };
    EXPECT_FALSE(measured("hello"));
    EXPECT_TRUE(measured("hello there"));
}

/// While X is held, the lines are those of the other state; without a mask there are many more.
TEST_F(TokenViews, LinesChangeStateWhileTheKeyIsHeld) {
    open_example("gpt-tiny");
    view.view = View::Lines;
    view.compare.choose(Compare::Unmasked);
    frames(2, ui_frame);
    const int shown = vertices();
    hold('X', true);
    frames(2, ui_frame);
    const int other = vertices();
    EXPECT_GT(other, shown + 4 * 100) << "15 tokens have 105 pairs above the diagonal, in 4 heads";
    hold('X', false);
    frames(2, ui_frame);
    EXPECT_EQ(vertices(), shown);
    // A text of another length.
    pin();
    view.compare.choose(Compare::Pinned);
    session->apply({command::SetTexts{{"the same words"}, {}}, ""});
    session->wait();
    hold('X', true);
    for (int y = 100; y < 900; y += 40) {
        move_mouse(1000, static_cast<float>(y));
        frames(1, ui_frame);
    }
    hold('X', false);
    frames(1, ui_frame);
}

TEST_F(TokenViews, EveryOptionHasANameInThePalette) {
    open_example("gpt-tiny");
    const auto run = [&](std::string_view name) {
        bool found = false;
        with_context([&](PanelContext& context) {
            for (const Action& action : all_actions(context))
                if (action.name == name) {
                    action.run(context);
                    found = true;
                }
        });
        return found;
    };
    EXPECT_TRUE(run("Lines of head 2 alone"));
    EXPECT_EQ(view.view, View::Lines);
    EXPECT_EQ(view.lines.hidden, (std::set<std::int64_t>{0, 1, 3}));
    EXPECT_TRUE(run("Lines of all heads"));
    EXPECT_TRUE(view.lines.hidden.empty());
    EXPECT_TRUE(run("Lines of one layer or of all"));
    frames(2, ui_frame);
    EXPECT_TRUE(view.lines.all_layers);
    EXPECT_TRUE(run("Totals as mean attention"));
    frames(2, ui_frame);
    EXPECT_FALSE(view.totals.rollout);
    EXPECT_TRUE(run("Compare with head 1"));
    EXPECT_EQ(view.compare.source, Compare::Itself);
    EXPECT_TRUE(run("Compare side by side"));
    EXPECT_EQ(view.compare.layout, CompareLayout::SideBySide);
    EXPECT_TRUE(run("Histogram of the map or of the whole tensor"));
    EXPECT_TRUE(view.histogram.whole);
    EXPECT_FALSE(run("Lines of head 99 alone"));
}

TEST_F(TokenViews, TheTotalsAreThoseOfTheEngine) {
    open_example("gpt-tiny");
    view.view = View::Totals;
    frames(2, ui_frame);
    const auto readings = get(facet::Totals{});
    const auto drawn = [&](const std::vector<float>& values) {
        return std::any_of(canvas.calls.begin(), canvas.calls.end(), [&](const auto& call) {
            const auto cells = static_cast<std::size_t>(call.request.data.rows * call.request.data.cols);
            return call.max.x - call.min.x > 100 && cells == values.size() &&
                   std::equal(values.begin(), values.end(), call.request.data.values);
        });
    };
    EXPECT_TRUE(drawn(readings->of(Stack::Main)->rollouts.back().sequence(0)));
    view.totals.up_to = 1;
    frames(1, ui_frame);
    EXPECT_TRUE(drawn(readings->of(Stack::Main)->rollouts[1].sequence(0)));
    view.totals.rollout = false;
    frames(1, ui_frame);
    EXPECT_TRUE(drawn(mean_of_layers(*readings->of(Stack::Main), 1, 0)));
}

TEST_F(TokenViews, AModelWithoutAHeadHasNoLensAndSaysSo) {
    open_example("gpt-tiny");
    ASSERT_TRUE(get(facet::Lens{})->lens);
    Config config = session->document().config;
    config.lm_head = false;
    session->apply({command::SetConfig{config}, ""});
    session->wait();
    EXPECT_FALSE(get(facet::Lens{})->lens);
    view.view = View::Lens;
    frames(3, ui_frame);
}

TEST_F(TokenViews, TheLastRowOfTheLensIsTheModelsOwnPrediction) {
    open_example("gpt-tiny");
    const auto readings = get(facet::Lens{});
    const LogitLens& lens = *readings->lens;
    const Tensor<float>& probabilities = trace().find({Stage::Probabilities})->value;
    for (std::int64_t t = 0; t < lens.positions; ++t) {
        const LensCell& cell = lens.at(lens.stages.size() - 1, 0, t);
        const float* row = probabilities.data() + t * trace().config.vocab_size;
        EXPECT_EQ(cell.top[0].probability, *std::max_element(row, row + trace().config.vocab_size));
        EXPECT_EQ(row[cell.top[0].token], cell.top[0].probability);
    }
}

TEST_F(TokenViews, WhatFitsDoesNotScroll) {
    open_example("stories");
    ImGui::GetIO().DisplaySize = {1600, 1000};
    const auto scrolls = [&](View shown, const char* part) {
        view.view = shown;
        frames(4, ui_frame);
        const ImGuiWindow* window = find_window(part);
        EXPECT_NE(window, nullptr) << part;
        return window != nullptr && (window->ScrollMax.x > 0 || window->ScrollMax.y > 0);
    };
    EXPECT_FALSE(scrolls(View::Lines, "##lines"));
    EXPECT_FALSE(scrolls(View::Lens, "##lens"));
    EXPECT_FALSE(scrolls(View::Grid, "##grid"));
    ImGui::GetIO().DisplaySize = {900, 600};
    EXPECT_TRUE(scrolls(View::Lens, "##lens")) << "seventeen words do not fit";
}

TEST_F(TokenViews, TheLensShowsPartsOfCharactersInTheColourOfTheirChips) {
    open_example("gpt-tiny");
    ImGui::GetIO().DisplaySize = {1600, 1000};
    view.view = View::Lens;
    const auto has_color_of_parts = [&](const char* text) {
        Document document = open_preset("gpt-tiny");
        document.tokenizer = TokenizerKind::Byte;
        document.vocabulary_texts.clear();
        document.texts = {text};
        session->apply({command::OpenDocument{document, false}, ""});
        session->wait();
        view.locked.clear();
        move_mouse(2, 2);
        frames(4, ui_frame);
        const auto& drawn = find_window("##lens")->DrawList->VtxBuffer;
        return std::any_of(drawn.begin(), drawn.end(), [&](const ImDrawVert& corner) { return corner.col == theme.colors.axis_d; });
    };
    EXPECT_FALSE(has_color_of_parts("abc"));
    EXPECT_TRUE(has_color_of_parts("a\u00E9"));
}

TEST_F(TokenViews, TheLensScrollsToAPositionThatIsChosenElsewhere) {
    open_example("stories");
    ImGui::GetIO().DisplaySize = {900, 600};
    view.view = View::Lens;
    const auto scrolled_to = [&](std::int64_t position) {
        view.locked.set(Axis::T, position);
        frames(4, ui_frame);
        return find_window("##lens")->Scroll.x;
    };
    EXPECT_EQ(scrolled_to(0), 0);
    const std::int64_t last = trace().tokens.lengths[0] - 1;
    const float end = scrolled_to(last);
    EXPECT_GT(end, 0);
    EXPECT_NEAR(end, find_window("##lens")->ScrollMax.x, 2);
    EXPECT_EQ(scrolled_to(last - 1), end) << "it is in sight already";
    find_window("##lens")->Scroll.x = 0;
    EXPECT_EQ(scrolled_to(last - 1), 0) << "who has scrolled away stays there";
}

TEST_F(TokenViews, FramesOfScrolledLensCellsStayOutOfTheLabels) {
    open_example("stories");
    ImGui::GetIO().DisplaySize = {900, 600};
    view.view = View::Lens;
    view.locked.set(Axis::T, trace().tokens.lengths[0] - 1);
    frames(4, ui_frame);
    const ImGuiWindow* window = find_window("##lens");
    ASSERT_GT(window->Scroll.x, 100);
    const ImDrawList& list = *window->DrawList;
    const float labels = window->Pos.x + theme.px(150) - 1;
    int behind = 0;
    for (const ImDrawCmd& command : list.CmdBuffer)
        for (unsigned i = 0; i < command.ElemCount; ++i) {
            const ImDrawVert& corner =
                list.VtxBuffer[static_cast<int>(command.VtxOffset) + list.IdxBuffer[static_cast<int>(command.IdxOffset + i)]];
            if (corner.col != theme.colors.good || corner.pos.x >= labels) continue;
            ++behind;
            EXPECT_GE(command.ClipRect.x, labels) << "a frame is drawn among the labels";
        }
    EXPECT_GT(behind, 0) << "otherwise no framed cell is cut";
}

/// A product of a query and a key below the lines must not push tokens out of sight before one is chosen.
TEST_F(TokenViews, AllTokensHaveLinesUntilOneIsChosen) {
    open_example("stories");
    ImGui::GetIO().DisplaySize = {1280, 720};
    session->apply({command::SetTexts{{"Tom gives a red ball to Anna because she is sad . Who has the ball ?"}, {}}, ""});
    view.view = View::Lines;
    const auto hides_lines = [&] {
        frames(4, ui_frame);
        const ImGuiWindow* window = find_window("##lines");
        return window != nullptr && window->ScrollMax.y > 0;
    };
    EXPECT_FALSE(hides_lines()) << "although a pair is selected when a text opens";
    view.lines.only = PointedToken{Axis::T, 3};
    EXPECT_TRUE(hides_lines()) << "the product takes the room of five lines";
}

TEST_F(TokenViews, MeanOfTheHeadsStandsBesideThem) {
    open_example("gpt-tiny");
    const StageId id{Stage::Weights, 1};
    const Matrix mean = map_of(id, 0, kMeanHead);
    ASSERT_FALSE(mean.empty());
    const Tensor<float>& weights = trace().find(id)->value;
    for (std::int64_t t = 0; t < mean.data.rows; ++t)
        for (std::int64_t s = 0; s < mean.data.cols; ++s) {
            double sum = 0;
            for (std::int64_t h = 0; h < weights.shape()[1].size; ++h) sum += static_cast<double>(weights(0, h, t, s));
            EXPECT_NEAR(mean.at(t, s), sum / static_cast<double>(weights.shape()[1].size), 1e-7);
        }
    view.head = kMeanHead;
    with_context([&](PanelContext& context) {
        EXPECT_FALSE(slice_of(context, shown_side(context, id, kMeanHead)).empty());
        EXPECT_TRUE(slice_of(context, shown_side(context, {Stage::Scores, 1}, kMeanHead)).empty()) << "a mean of scores means nothing";
    });
    view.head = 0;
    view.view = View::Heads;
    frames(2, ui_frame);
    EXPECT_TRUE(std::any_of(canvas.calls.begin(), canvas.calls.end(),
                            [&](const auto& call) { return call.request.data.rows == mean.data.rows && call.max.x - call.min.x > 60; }));
}

TEST(Statistics, SeveralPartsCountAsOne) {
    const std::vector<float> one = {1, 2, 3, 100}, two = {5, std::numeric_limits<float>::quiet_NaN(), -1, 7};
    const std::vector<std::uint8_t> keep = {1, 1, 1, 0};
    const HeatmapData parts[] = {{0, one.data(), 2, 2, 2, keep.data()}, {0, two.data(), 1, 4, 4, nullptr}, {}};
    const TensorStatistics s = compute_statistics(parts);
    EXPECT_EQ(s.count, 6);
    EXPECT_EQ(s.masked, 1);
    EXPECT_EQ(s.nan, 1);
    EXPECT_EQ(s.min, -1);
    EXPECT_EQ(s.max, 7);
    EXPECT_DOUBLE_EQ(s.mean, 17.0 / 6);
    std::int64_t binned = 0;
    for (const std::int64_t n : s.histogram) binned += n;
    EXPECT_EQ(binned, 6);
}

TEST(Statistics, BarsOfRareNumbersAreSeenOnALogarithmicScale) {
    TensorStatistics s;
    s.count = 1001;
    s.max = 1;
    s.histogram[0] = 1000;
    s.histogram[5] = 1;
    EXPECT_FLOAT_EQ(bar_height(s, 0, false), 1);
    EXPECT_FLOAT_EQ(bar_height(s, 0, true), 1);
    EXPECT_FLOAT_EQ(bar_height(s, 5, false), 0.001F);
    EXPECT_GT(bar_height(s, 5, true), 0.05F);
    EXPECT_EQ(bar_height(s, 7, true), 0);
}

TEST_F(TokenViews, HistogramsOfOddTensorsAreDrawn) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const std::vector<float>& values : {std::vector<float>{0.5F}, {2, 2, 2, 2}, {nan, nan}, {nan, 1, INFINITY, -3}})
        for (const bool log : {false, true}) {
            const HeatmapData data{
                0, values.data(), 1, static_cast<std::int64_t>(values.size()), static_cast<std::int64_t>(values.size()), nullptr};
            const TensorStatistics s = compute_statistics(data);
            contents_have_windows = false;
            frame([&] { draw_histogram(ui, *ImGui::GetWindowDrawList(), {10, 10}, {200, 80}, s, {}, log); });
            contents_have_windows = true;
            for (int bin = 0; bin < kHistogramBins; ++bin) EXPECT_TRUE(std::isfinite(bar_height(s, bin, log)) || s.empty());
        }
    open_example("causal-attention");
    for (const bool whole : {false, true})
        for (const auto& stage : trace().stages) {
            view.histogram.whole = whole;
            view.stage = stage.id;
            frame(ui_frame);
        }
    // Masked cells are counted separately, in every sequence and head.
    const RecordedStage<float>& masked = *trace().find({Stage::Masked, 0});
    const Shape& shape = masked.value.shape();
    const auto computed_statistics = get(facet::Statistics{{Stage::Masked, 0}});
    const TensorStatistics& s = *computed_statistics;
    std::int64_t expected = 0;
    for (std::int64_t b = 0; b < shape[0].size; ++b)
        for (std::int64_t h = 0; h < shape[1].size; ++h)
            for (std::int64_t t = 0; t < shape[2].size; ++t)
                for (std::int64_t k = 0; k < shape[3].size; ++k) expected += masked.mask->may_attend(b, h, t, k) ? 0 : 1;
    EXPECT_GT(expected, 0);
    EXPECT_EQ(s.masked, expected);
    EXPECT_EQ(s.count + s.masked, masked.value.size());
    EXPECT_EQ(s.infinite, 0);
}

class ReadingViewsTest : public InterfaceFixture {};

/// Cells masked in every layer are hatched, as in all views, but not the diagonal.
TEST_F(ReadingViewsTest, TotalsHatchWhatIsMaskedEverywhere) {
    open_example("gpt-tiny");
    view.view = View::Totals;
    view.totals.rollout = true;
    frames(2, ui_frame);
    const auto largest = std::max_element(canvas.calls.begin(), canvas.calls.end(),
                                          [](const auto& a, const auto& b) { return a.max.x - a.min.x < b.max.x - b.min.x; });
    ASSERT_NE(largest, canvas.calls.end());
    const HeatmapData& data = largest->request.data;
    ASSERT_NE(data.keep, nullptr);
    for (std::int64_t row = 0; row < data.rows; ++row)
        for (std::int64_t col = 0; col < data.cols; ++col)
            EXPECT_EQ(data.keep[row * data.cols + col] != 0, col <= row) << row << " " << col;
}

class ByteLabels : public InterfaceFixture {
protected:
    void open_bytes(const std::string& text) {
        Document document = open_preset("causal-attention");
        document.tokenizer = TokenizerKind::Byte;
        document.texts = {text};
        session = std::make_unique<Session>(std::move(document), [] {});
        session->wait();
    }
};

TEST_F(ByteLabels, AreWrittenAsOnChips) {
    open_bytes("a\u00E9");
    const StageId scores{Stage::Scores, 0};
    with_context([&](PanelContext& context) {
        EXPECT_EQ(axis_labels(context, scores, Axis::T, 3), (std::vector<std::string>{"a", "C3", "A9"}));
        EXPECT_EQ(index_label(context, scores, Axis::S, 1), "C3");
    });
}

TEST_F(ByteLabels, OfADifferenceNameTheTokensOfBothStates) {
    open_bytes("ab");
    Snapshot before = *session->snapshot();
    before.tokens = {{before.tokens[0][0], {"c", 99, false, false}}};
    with_context([&](PanelContext& context) {
        const LabelledBy both{.before = &before};
        EXPECT_EQ(axis_labels(context, {Stage::Scores, 0}, Axis::T, 2, both), (std::vector<std::string>{"a", "c→b"}));
        EXPECT_EQ(index_label(context, {Stage::Scores, 0}, Axis::D, 1, both), "1");
    });
}

}  // namespace
}  // namespace attn::app::test
