#include "app/panels/views/knock_out_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/panels/edit/edit_words.hpp"
#include "app/panels/maps/labels.hpp"
#include "app/panels/views/equation_layout.hpp"
#include "app/panels/write/fill_in_view.hpp"
#include "app/session/facets/next_words.hpp"
#include "app/widgets/color_bar.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/heatmap_view.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kListWidth = 300, kListLine = 26, kMaxHeadCell = 150, kLeastHeadRow = 22, kLayerLabels = 96, kWorthBar = 110;
constexpr std::array<std::string_view, 2> kMeasures = {"loss", "a token's probability"};

double change(const KnockOut& result, const HeadWorth& head) { return head.without - result.with_all; }

bool is_whole(const KnockOut& result) {
    return std::all_of(result.heads.begin(), result.heads.end(), [](const HeadWorth& head) { return head.measured; });
}

/// An encoder-decoder has up to three attentions per layer, whose names must fit beside the picture.
std::string row_name(const StageId& context) {
    return context.stack == Stack::Main ? place_words(context, -1) : attention_name(context, {}, true);
}

std::string head_name(const HeadWorth& head) {
    return head.context.stack == Stack::Main ? place_words(head.context, head.head) : attention_name(head.context, head.head, true);
}

/// The changes as a matrix: rows are attentions, columns are heads.
struct WorthMap {
    std::vector<float> values;
    std::vector<std::uint8_t> measured;
    std::vector<std::string> rows, columns;
    std::int64_t heads = 0;
    float reach = 0;  ///< largest magnitude
};

WorthMap map_of(const KnockOut& result) {
    WorthMap map;
    for (const HeadWorth& head : result.heads) {
        if (head.head == 0) map.rows.push_back(row_name(head.context));
        map.heads = std::max(map.heads, head.head + 1);
        const auto value = head.measured ? static_cast<float>(change(result, head)) : 0;
        map.values.push_back(value);
        map.measured.push_back(head.measured ? 1 : 0);
        if (std::isfinite(value)) map.reach = std::max(map.reach, std::abs(value));
    }
    for (std::int64_t head = 0; head < map.heads; ++head) map.columns.push_back(fmt::format("H{}", head));
    return map;
}

void open_head(PanelContext& context, const HeadWorth& head) {
    context.view.stage = weights_of(head.context);
    context.view.head = head.head;
    context.view.view = View::Step;
}

/// The question in words, such as "probability of ‘sat’ after position 6 ‘cat’".
std::string question_words(const PanelContext& context, const KnockOutQuestion& question) {
    const bool both_ways = reads_both_ways(context);
    if (!question.place && both_ways) return "loss on every word of the shown text that is not hidden";
    if (!question.place && !question.counted.empty()) return "loss on what the task asks for; the rest cannot be predicted";
    if (!question.place) return "next-token loss on the shown text";
    const auto& place = *question.place;
    return fmt::format("probability of ‘{}’ {} position {} ‘{}’", index_label(context, {Stage::Logits, -1}, Axis::V, place.token),
                       both_ways ? "at" : "after", place.position, index_label(context, {Stage::Logits, -1}, Axis::T, place.position));
}

void draw_heading(PanelContext& context, const KnockOutQuestion& question) {
    const auto& [colors, fonts, scale] = context.theme;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x, switch_width = segmented_width(context.ui(), kMeasures);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    draw_text(list, fonts.heading, at, colors.text, "Knock-out");
    const float detail_x = at.x + text_width(fonts.heading, "Knock-out") + context.px(12);
    draw_text(list, fonts.label, {detail_x, at.y + context.px(9)}, colors.muted,
              elide(fonts.label, question_words(context, question), at.x + width - switch_width - context.px(14) - detail_x));
    ImGui::SetCursorScreenPos({at.x + width - switch_width, at.y + context.px(1)});
    int chosen = context.view.knock_out.chance ? 1 : 0;
    if (segmented(context.ui(), "##measure", kMeasures, chosen, switch_width + 1,
                  {.tooltip = "The loss over the whole text, or the probability of one token after the chosen position: the text's own, or "
                              "the one chosen among the logits or probabilities."}))
        context.view.knock_out.chance = chosen == 1;
    ImGui::SetCursorScreenPos({at.x, at.y + context.px(38)});
    paragraph(context.ui(), fonts.label, colors.muted,
              context.view.knock_out.chance
                  ? "Change in the probability when a head's context is set to zero and everything after it is "
                    "recomputed. Orange: it rises without the head, which opposes the token. Blue: it falls; the head "
                    "favours the token."
                  : "Change in the loss when a head's context is set to zero and everything after it is "
                    "recomputed. Orange: it rises without the head, which helps. Blue: it falls; the head hurts.");
    gap(context.ui(), 6);
}

/// Draws progress with a cancel or measure button, or what is wrong or outdated.
void draw_state(PanelContext& context, const Answer<facet::KnockOut>& answer) {
    KnockOutState& state = context.view.knock_out;
    const auto& [colors, fonts, scale] = context.theme;
    const Ui ui = context.ui();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const bool fresh = answer.value != nullptr;
    std::string words;
    if (fresh)
        words =
            fmt::format("{} with all heads {}", state.chance ? "probability" : "loss", format_number(answer->with_all, {.decimals = 4}));
    else if (state.stopped) words = state.last == nullptr || is_whole(*state.last) ? "not measured" : "stopped before all were measured";
    else if (!answer.problem.empty()) words = answer.problem;
    else if (answer.total == 0) words = "measuring with all heads";
    else words = fmt::format("{} of {} heads, strongest first", answer.done, answer.total);
    if (!fresh && answer.so_far == nullptr && state.last != nullptr && is_whole(*state.last)) words += " · below: an earlier state";
    float x = at.x;
    if (!state.stopped && answer.computing()) {
        ImGui::SetCursorScreenPos({x, at.y + context.px(11)});
        progress_bar(ui, answer.total > 0 ? static_cast<float>(answer.done) / static_cast<float>(answer.total) : 0, 160);
        ImGui::SetCursorScreenPos({x + context.px(172), at.y});
        if (button(ui, "cancel", {.width = 72, .notes = {.tooltip = "Stops measuring."}})) state.stopped = true;
        x += context.px(256);
    } else if (state.stopped && !fresh) {
        ImGui::SetCursorScreenPos({x, at.y});
        if (button(ui, "measure",
                   {.look = ButtonLook::Accent, .width = 84, .notes = {.tooltip = "Measures every head, in the background."}}))
            state.stopped = false;
        x += context.px(96);
    }
    const Color ink = !answer.problem.empty() ? colors.bad : fresh ? colors.text : colors.chosen_text;
    draw_text(*ImGui::GetWindowDrawList(), fonts.body, {x, at.y + context.px(7)}, ink, words);
    ImGui::SetCursorScreenPos({at.x, at.y + context.px(42)});
}

/// Draws the changes in their cells, small ones in scientific notation.
void draw_numbers(const PanelContext& context, const WorthMap& map, const HeatmapStyle& style, const Box& box) {
    ImFont* font = context.theme.fonts.mono_small;
    const float width = box.width() / static_cast<float>(map.heads), height = box.height() / static_cast<float>(map.rows.size());
    if (text_width(font, "−0.0000") + context.px(6) > width || height < context.px(16)) return;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    for (std::size_t i = 0; i < map.values.size(); ++i) {
        if (map.measured[i] == 0) continue;
        const auto row = static_cast<float>(i / static_cast<std::size_t>(map.heads));
        const auto column = static_cast<float>(i % static_cast<std::size_t>(map.heads));
        const ImVec2 min{box.min.x + column * width, box.min.y + row * height};
        draw_text_in(list, font, min, {min.x + width, min.y + height}, {0.5F, 0.5F}, ink_on(context.canvas.color(style, map.values[i])),
                     format_number(static_cast<double>(map.values[i]), {.decimals = 4}));
    }
}

void draw_map(PanelContext& context, const KnockOut& result, ImVec2 at, ImVec2 room, bool fresh) {
    const WorthMap map = map_of(result);
    if (map.values.empty()) return;
    const auto rows = static_cast<std::int64_t>(map.rows.size());
    const HeatmapData data{
        .values = map.values.data(), .rows = rows, .cols = map.heads, .row_stride = map.heads, .keep = map.measured.data()};
    const float reach = map.reach > 0 ? map.reach : 1;
    const HeatmapStyle style{.map = ColorMap::Diverging, .lo = -reach, .hi = reach};
    const float label = context.px(kLayerLabels), bar = context.px(kWorthBar);
    const float cell_w = std::min((room.x - label - bar) / static_cast<float>(map.heads), context.px(kMaxHeadCell));
    // Many heads make narrow columns; their rows stay high enough to read a layer's name.
    const float cell_h =
        std::min({(room.y - context.px(30)) / static_cast<float>(rows), context.px(104), std::max(cell_w, context.px(kLeastHeadRow))});
    const ImVec2 min{at.x + label, at.y + context.px(24)};
    const ImVec2 max{min.x + cell_w * static_cast<float>(map.heads), min.y + cell_h * static_cast<float>(rows)};
    HeatmapOptions options;
    options.rows = {.label = labels_in(map.rows), .room = label - context.px(8)};
    options.cols = {.label = labels_in(map.columns), .room = context.px(20)};
    options.zoom = options.pan = options.numbers = false;
    HeatmapViewState whole;
    const HeatmapResult hit = heatmap_view(context.ui(), "##worth", min, max, data, style, whole, options);
    draw_numbers(context, map, style, {min, max});
    if (!fresh) ImGui::GetWindowDrawList()->AddRectFilled(min, max, with_alpha(context.theme.colors.pane, 0.65F));
    color_bar(context.ui(), {max.x + context.px(20), min.y}, min.y + std::max(max.y - min.y, context.px(100)), style, {});
    const auto head_at = [&](const HeatmapCell& cell) { return result.heads[static_cast<std::size_t>(cell.row * map.heads + cell.col)]; };
    if (hit.clicked) open_head(context, head_at(*hit.clicked));
    if (!hit.hovered) return;
    const HeadWorth head = head_at(*hit.hovered);
    begin_tooltip(context.ui());
    text_line(context.ui(), context.theme.fonts.strong, context.theme.colors.text, head_name(head));
    if (!head.measured) text_line(context.ui(), context.theme.fonts.label, context.theme.colors.muted, "not measured yet");
    else
        text_line(context.ui(), context.theme.fonts.mono, context.theme.colors.muted,
                  fmt::format("{} with it, {} without: {}", format_number(result.with_all, {.decimals = 4}),
                              format_number(head.without, {.decimals = 4}),
                              format_number(change(result, head), {.decimals = 4, .plus = true})));
    text_line(context.ui(), context.theme.fonts.label, context.theme.colors.faint, "click to open the head");
    end_tooltip();
}

/// Draws the list of heads by effect, largest first.
void draw_list(PanelContext& context, const KnockOut& result, bool fresh) {
    const auto& [colors, fonts, scale] = context.theme;
    section_heading(context.ui(), "Heads by their effect");
    std::vector<const HeadWorth*> order;
    for (const HeadWorth& head : result.heads)
        if (head.measured) order.push_back(&head);
    const auto size = [&](const HeadWorth* head) {
        const double value = std::abs(change(result, *head));
        return std::isnan(value) ? HUGE_VAL : value;
    };
    std::stable_sort(order.begin(), order.end(), [&](const HeadWorth* a, const HeadWorth* b) { return size(a) > size(b); });
    const double largest = order.empty() ? 0 : size(order.front());
    const float width = ImGui::GetContentRegionAvail().x, line = context.px(kListLine);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    for (std::size_t i = 0; i < order.size(); ++i) {
        ImGui::PushID(static_cast<int>(i));
        const Item item = begin_item(context.ui(), "##head", {width, line}, {.tooltip = "Click to open this head."});
        draw_focus_ring(context.ui(), item, context.px(3));
        ImGui::PopID();
        const double value = change(result, *order[i]);
        const Color ink = !fresh ? colors.faint : item.hovered ? colors.accent : colors.text;
        draw_text_in(list, fonts.label, item.min, item.max, {0, 0.5F}, ink, elide(fonts.label, head_name(*order[i]), width * 0.48F));
        draw_text_in(list, fonts.mono_small, item.min, item.max, {1, 0.5F}, ink, format_number(value, {.decimals = 4, .plus = true}));
        const float left = item.min.x + width * 0.5F, right = item.max.x - context.px(74), middle = (left + right) / 2;
        if (std::isfinite(value) && largest > 0 && std::isfinite(largest)) {
            const float end = middle + static_cast<float>(value / largest) * (right - middle);
            const Color bar = context.canvas.color({.map = ColorMap::Diverging, .lo = -1, .hi = 1}, value < 0 ? -1.F : 1.F);
            list.AddRectFilled({std::min(middle, end), item.min.y + context.px(8)}, {std::max(middle, end), item.max.y - context.px(8)},
                               with_alpha(bar, fresh ? 1.F : 0.35F), context.px(2));
        }
        list.AddLine({middle, item.min.y + context.px(4)}, {middle, item.max.y - context.px(4)}, colors.line);
        if (item.pressed) open_head(context, *order[i]);
    }
}

}  // namespace

KnockOutQuestion knock_out_question(const PanelContext& context) {
    if (!context.ready()) return {};
    if (!context.view.knock_out.chance) return {{}, context.snapshot.asked};
    const TokenBatch& tokens = context.trace().tokens;
    const std::int64_t batch = std::min(context.view.batch, tokens.size() - 1);
    if (batch < 0 || tokens.length == 0) return {};
    const std::int64_t length = std::max<std::int64_t>(tokens.lengths[static_cast<std::size_t>(batch)], 1);
    const bool both_ways = reads_both_ways(context);
    const std::optional<std::int64_t> hidden = both_ways ? hidden_position(context) : std::nullopt;
    const std::int64_t asked = hidden ? *hidden : context.view.locked.on(Axis::T).value_or(length - (both_ways ? 1 : 2));
    const std::int64_t position = std::clamp<std::int64_t>(asked, 0, length - 1);
    const std::int64_t next = both_ways ? position : std::min(position + 1, length - 1);
    std::int64_t said = tokens.ids[static_cast<std::size_t>(batch * tokens.length + next)];
    // Nothing says which word is hidden, or what would follow the text: the likeliest is asked for.
    if (hidden || (!both_ways && position == length - 1))
        if (const auto words = context.ask_latest(facet::NextWords{batch, {}, position}); words && !words->likeliest.empty())
            said = words->likeliest.front().id;
    const std::int64_t token = context.view.locked.on(Axis::V).value_or(said);
    return {KnockOutQuestion::Place{batch, position,
                                    static_cast<std::int32_t>(std::clamp<std::int64_t>(token, 0, context.trace().config.vocab_size - 1))},
            {}};
}

void draw_knock_out_view(PanelContext& context) {
    if (!context.ready()) return;
    const auto& [colors, fonts, scale] = context.theme;
    const KnockOutQuestion question = knock_out_question(context);
    draw_heading(context, question);
    if (!context.trace().config.lm_head) {
        paragraph(context.ui(), fonts.body, colors.muted,
                  "Without an output head the model predicts nothing. Switch on “Output head” in the settings of the Step view.");
        return;
    }
    const auto& lengths = context.trace().tokens.lengths;
    if (!question.place && !reads_both_ways(context) &&
        std::none_of(lengths.begin(), lengths.end(), [](std::int64_t length) { return length > 1; })) {
        paragraph(
            context.ui(), fonts.body, colors.muted,
            "A text of one token has no next token to predict, so there is no loss: write a longer text, or choose a token's probability.");
        return;
    }
    // After cancelling, nothing is requested until the button is pressed.
    KnockOutState& state = context.view.knock_out;
    Answer<facet::KnockOut> answer;
    if (!state.stopped) answer = context.ask(facet::KnockOut{question});
    const Answer<facet::KnockOut> earlier = answer ? answer : state.stopped ? answer : context.ask_latest(facet::KnockOut{question});
    if (earlier) state.last = earlier.value;
    // Partial results replace those of an earlier state, except while a run is followed, when a complete earlier result is better.
    const bool partly = !earlier && answer.so_far != nullptr;
    if (partly) state.last = answer.so_far;
    else if (state.last != nullptr && !is_whole(*state.last) && !state.stopped) state.last = nullptr;
    draw_state(context, answer);
    if (state.last == nullptr) return;
    const bool fresh = answer.value != nullptr || partly;
    const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    const float list_width = std::min(context.px(kListWidth), room.x * 0.4F);
    const float widest_map =
        context.px(kLayerLabels + kWorthBar) + static_cast<float>(context.trace().config.num_heads) * context.px(kMaxHeadCell);
    const float list_x = at.x + std::min(room.x - list_width, widest_map + context.px(24));
    draw_map(context, *state.last, at, {room.x - list_width - context.px(24), room.y}, fresh);
    ImGui::SetCursorScreenPos({list_x, at.y});
    ImGui::PushStyleColor(ImGuiCol_ChildBg, IM_COL32(0, 0, 0, 0));
    ImGui::BeginChild("##heads_in_order", {list_width, room.y}, false, ImGuiWindowFlags_NoNav);
    ImGui::PopStyleColor();
    draw_list(context, *state.last, fresh);
    fade_scrolled_edges(context.ui());
    ImGui::EndChild();
}

}  // namespace attn::app
