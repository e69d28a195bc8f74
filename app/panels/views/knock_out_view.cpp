#include "app/panels/views/drawn_views.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "app/panels/kit/emit.hpp"
#include "app/panels/kit/labels.hpp"
#include "app/panels/kit/notice_place.hpp"
#include "app/panels/kit/scrolled.hpp"
#include "app/panels/kit/texts.hpp"
#include "app/panels/views/knock_out_map.hpp"
#include "app/panels/views/knock_out_parts.hpp"
#include "app/panels/views/knock_out_question.hpp"
#include "app/panels/views/token_choice.hpp"
#include "app/panels/write/fill_in_view.hpp"
#include "app/session/document/knock_out_names.hpp"
#include "app/session/values/knock_out.hpp"
#include "app/widgets/box.hpp"
#include "app/widgets/color_bar.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/heatmap_view.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/value_bar.hpp"

namespace attn::app {
namespace {

constexpr float kListWidth = 300, kListLine = 26, kMaxHeadCell = 150, kLeastHeadRow = 22, kLayerLabels = 96, kWorthBar = 110;
constexpr float kPositionRow = 40;
constexpr float kLeastPicture = 200;  // in a lower window the view scrolls
constexpr std::size_t kMostListed = 200;
constexpr float kWorthWriting = 1e-5F;       // of the largest change
constexpr float kListBesidePositions = 860;  // from this width on, because a map of positions is wide
constexpr float kLabelColumn = 66, kRowHeight = 30, kTokenWidth = 108, kOtherTexts = 92;

/// Back from an opened position, the question is the one before, unless another position was selected meanwhile.
void take_up_question(ViewState& view) {
    const auto opened = std::exchange(view.knock_out.opened, std::nullopt);
    if (opened && view.locked.on(Axis::T) == opened->position) view.locked.set(Axis::T, opened->before);
}

/// Both texts give the same numbers until a word is changed.
void begin_with_copy(PanelContext& context) {
    add_text(context, 0);
    context.view.knock_out.from = 0;
}

/// Returns the right end.
float offer_second_text(PanelContext& context) {
    const auto& texts = context.document.texts;
    if (texts.size() != 1 || context.view.lesson.open()) return ImGui::GetCursorScreenPos().x;
    if (link(context.ui(), "Take numbers from another text instead: add one",
             "Adds a copy of the text: change a word in it. Heads, blocks or positions can then be replaced by those of the other text "
             "(activation patching)."))
        begin_with_copy(context);
    const float right = ImGui::GetItemRectMax().x;
    gap(context.ui(), 6);
    return right;
}

/// Which parts are replaced.
void draw_parts(PanelContext& context, const KnockOutQuestion& question) {
    const std::vector<ReplacedParts> parts = replaceable_parts(context.structure(), question.patch.has_value());
    std::vector<std::string_view> names;
    for (const ReplacedParts part : parts) names.push_back(menu_name(part));
    int chosen = static_cast<int>(std::find(parts.begin(), parts.end(), question.parts) - parts.begin());
    if (!segmented_row(context.ui(), "Replace", names, chosen, kLabelColumn,
                       {.tooltip = "Heads: one head's context. Blocks: all that an attention or a feed-forward network adds. With another "
                                   "text also at one position: the stream that enters a layer, or what is added to it there."}))
        return;
    context.view.knock_out.parts = parts[static_cast<std::size_t>(chosen)];
    context.view.knock_out.last.reset();
}

/// With more than two texts, a list of those that can be taken from.
void draw_other_texts(PanelContext& context, const KnockOutQuestion& question) {
    std::vector<std::int64_t> others;
    std::vector<std::string> names;
    for (std::int64_t text = 0; text < context.structure().tokens.size(); ++text) {
        if (text == question.patch->into) continue;
        others.push_back(text);
        names.push_back(fmt::format("text {}", text + 1));
    }
    const std::vector<std::string_view> shown(names.begin(), names.end());
    int other = static_cast<int>(std::find(others.begin(), others.end(), question.patch->from) - others.begin());
    if (drop_down(context.ui(), "##from_text", shown, other, kOtherTexts))
        context.view.knock_out.from = others[static_cast<std::size_t>(other)];
}

/// What replaces the parts: pills and, with more than two texts, a list of the others. Returns their right end.
float draw_replacement(PanelContext& context, const KnockOutQuestion& question) {
    const std::int64_t texts = context.structure().tokens.size();
    if (texts < 2) return offer_second_text(context);
    constexpr std::array<std::string_view, 2> kReplacements = {"zero", "another text's"};
    KnockOutState& state = context.view.knock_out;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    int chosen = question.patch ? 1 : 0;
    if (segmented_row(context.ui(), "by", kReplacements, chosen, kLabelColumn,
                      {.tooltip = "Zero shows what a part is worth. Numbers of another text show where the difference between the two "
                                  "texts is decided: write two that differ in one word."})) {
        state.from = chosen == 0 ? std::nullopt : std::optional(text_beside_shown(context));
        state.last.reset();
    }
    const ImVec2 below = ImGui::GetCursorScreenPos();
    float right = at.x + context.px(kLabelColumn) + segmented_width(context.ui(), kReplacements);
    if (question.patch && texts > 2) {
        ImGui::SetCursorScreenPos({right + context.px(12), at.y});
        draw_other_texts(context, question);
        right += context.px(12 + kOtherTexts);
    }
    ImGui::SetCursorScreenPos({at.x, below.y + context.px(4)});
    return right;
}

/// A label and, after it, a list of tokens; the cursor moves on behind it.
std::optional<std::int32_t> token_after(PanelContext& context, const char* label, std::int32_t shown, std::span<const std::int32_t> likely,
                                        std::string_view tooltip) {
    const auto& [colors, fonts, scale] = context.theme;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float list = at.x + text_width(fonts.label, label) + context.px(8);
    draw_text_in(*ImGui::GetWindowDrawList(), fonts.label, at, {list, at.y + context.px(kRowHeight)}, {0, 0.5F}, colors.muted, label);
    ImGui::SetCursorScreenPos({list, at.y});
    const auto chosen = choose_token(context, label, shown, likely, context.view.knock_out.search, kTokenWidth, tooltip);
    ImGui::SetCursorScreenPos({list + context.px(kTokenWidth + 12), at.y});
    return chosen;
}

/// The token asked about and, of a logit difference, the other, at the right end of the line that begins at `line` and is taken up to
/// `taken`, or below it.
void draw_tokens(PanelContext& context, const KnockOutQuestion& question, ImVec2 line, float taken) {
    const auto& place = *question.place;
    ImVec2 below = ImGui::GetCursorScreenPos();
    const ImFont* font = context.theme.fonts.label;
    float width = text_width(font, "of") + context.px(8 + kTokenWidth);
    if (place.against) width += text_width(font, "against") + context.px(8 + kTokenWidth + 12);
    const float left = line.x + ImGui::GetContentRegionAvail().x - width;
    if (left < taken + context.px(12)) {
        line.y = below.y;
        below.y += context.px(kRowHeight + 4);
    }
    ImGui::SetCursorScreenPos({left, line.y});
    // The text's own token is the answer while none is chosen.
    const std::int32_t own = own_answer(context).value_or(place.token);
    std::vector<std::int32_t> likely = likely_answers(context, question);
    std::erase(likely, own);
    likely.insert(likely.begin(), own);
    if (const auto chosen = token_after(context, "of", place.token, likely, "The token asked about: the text's own, if none was chosen."))
        context.view.locked.set(Axis::V, *chosen == own ? std::nullopt : std::optional<std::int64_t>(*chosen));
    if (place.against) {
        const auto chosen = token_after(context, "against", *place.against, other_answers(context, question),
                                        "The token whose logit is subtracted: the other text's answer, or another likely token here.");
        if (chosen) context.view.knock_out.against = *chosen;
    }
    ImGui::SetCursorScreenPos(below);
}

void draw_heading(PanelContext& context, const KnockOutQuestion& question) {
    const auto& [colors, fonts, scale] = context.theme;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x, switch_width = segmented_width(context.ui(), kMeasureNames);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    draw_text(list, fonts.heading, at, colors.text, "Knock-out");
    const float detail_x = at.x + text_width(fonts.heading, "Knock-out") + context.px(12);
    const std::string asked = question_words(context, question);
    const float detail_end = at.x + width - switch_width - context.px(14);
    const bool fits = detail_x + text_width(fonts.label, asked) <= detail_end;
    const bool told = leaves_to_notice(context, {{detail_x, at.y}, {detail_end, at.y + context.px(kNoticeLine)}});
    if (fits && !told) draw_text(list, fonts.label, {detail_x, at.y + context.px(9)}, colors.muted, asked);
    ImGui::SetCursorScreenPos({at.x + width - switch_width, at.y + context.px(1)});
    AnswerMeasure& measure = context.view.knock_out.measure;
    int chosen = static_cast<int>(measure);
    if (segmented(context.ui(), "##measure", kMeasureNames, chosen, switch_width + 1,
                  {.tooltip = "The loss over the whole text; or of one token after the chosen position, its probability or by how much its "
                              "logit exceeds another one's."}))
        measure = static_cast<AnswerMeasure>(chosen);
    ImGui::SetCursorScreenPos({at.x, at.y + context.px(38)});
    if (!fits) {
        paragraph(context.ui(), fonts.label, colors.muted, asked);
        gap(context.ui(), 4);
    }
    if (!context.picture_alone) {
        draw_parts(context, question);
        const ImVec2 second_line = ImGui::GetCursorScreenPos();
        const float taken = draw_replacement(context, question);
        if (question.place && context.structure().config.lm_head) draw_tokens(context, question, second_line, taken);
    }
    // A lesson explains this itself, and leaves little room.
    if (!context.view.lesson.open()) paragraph(context.ui(), fonts.label, colors.muted, measured_words(context.structure(), question));
    gap(context.ui(), 6);
}

/// The time left at the pace so far, if it is long enough to be worth showing: " · about 3 min left".
std::string time_left(PanelContext& context, const KnockOutQuestion& question, const Answer<facet::KnockOut>& answer) {
    constexpr std::size_t kLeastDone = 3;
    constexpr double kWorthTelling = 15, kMinute = 60;
    auto& began = context.view.knock_out.began;
    const double now = ImGui::GetTime();
    if (!began || began->question != question || began->state != context.states.shown || answer.done < began->done)
        began = {question, context.states.shown, now, answer.done};
    const std::size_t done = answer.done - began->done;
    if (done < kLeastDone) return "";
    const double left = (now - began->at) / static_cast<double>(done) * static_cast<double>(answer.total - answer.done);
    if (left < kWorthTelling) return "";
    return left < 1.5 * kMinute ? fmt::format(" · about {:.0f} s left", std::ceil(left / 10) * 10)
                                : fmt::format(" · about {:.0f} min left", left / kMinute);
}

/// Draws progress with a cancel or measure button, or what is wrong or outdated.
void draw_state(PanelContext& context, const KnockOutQuestion& question, const Answer<facet::KnockOut>& answer) {
    KnockOutState& state = context.view.knock_out;
    const auto& [colors, fonts, scale] = context.theme;
    const Ui ui = context.ui();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    const bool fresh = answer.value != nullptr;
    std::string words;
    if (fresh) words = measured_whole(context, question, *answer.value);
    else if (state.stopped) words = state.last == nullptr || state.last->whole() ? "not measured" : "stopped before all were measured";
    else if (!answer.problem.empty()) words = answer.problem;
    else if (answer.total == 0) words = "measuring with nothing replaced";
    else
        words = fmt::format("{} of {} {}, strongest first{}", answer.done, answer.total, counted_name(question.parts),
                            time_left(context, question, answer));
    if (!fresh && answer.so_far == nullptr && state.last != nullptr && state.last->whole()) words += " · below: an earlier state";
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
                   {.look = ButtonLook::Accent, .width = 84, .notes = {.tooltip = "Measures every part, in the background."}}))
            state.stopped = false;
        x += context.px(96);
    }
    const Color ink = !answer.problem.empty() ? colors.bad : fresh ? colors.text : colors.chosen_text;
    draw_text(*ImGui::GetWindowDrawList(), fonts.body, {x, at.y + context.px(7)}, ink, elide(fonts.body, words, at.x + width - x));
    ImGui::SetCursorScreenPos({at.x, at.y + context.px(42)});
}

/// Orange means that a part helps: without it the loss rises, or what is asked of the answer falls.
bool helps_if_falling(const KnockOutQuestion& question) { return question.measure() != AnswerMeasure::Loss; }

float turned_change(const void* first, std::int64_t at) { return -static_cast<const float*>(first)[at]; }

/// The changes as colours show them.
HeatmapData helps_of(const WorthGrid& grid, bool if_falling) {
    HeatmapData data{.rows = grid.rows, .cols = grid.columns, .row_stride = grid.columns, .keep = grid.measured.data()};
    if (if_falling) {
        data.stored = grid.changes.data();
        data.read = turned_change;
    } else {
        data.values = grid.changes.data();
    }
    return data;
}

/// Draws the changes in their cells, small ones in scientific notation.
void draw_numbers(const PanelContext& context, const WorthGrid& grid, const HeatmapStyle& style, const Box& box, bool if_falling) {
    ImFont* font = context.theme.fonts.mono_small;
    const float width = box.width() / static_cast<float>(grid.columns), height = box.height() / static_cast<float>(grid.rows);
    if (text_width(font, "−0.0000") + context.px(6) > width || height < context.px(16)) return;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    for (std::size_t i = 0; i < grid.changes.size(); ++i) {
        const float change = grid.changes[i];
        // Beside the strong ones, numbers of rounding would only be noise; the tooltip gives them.
        if (grid.measured[i] == 0 || (change != 0 && std::abs(change) < kWorthWriting * grid.reach)) continue;
        const auto row = static_cast<float>(i / static_cast<std::size_t>(grid.columns));
        const auto column = static_cast<float>(i % static_cast<std::size_t>(grid.columns));
        const ImVec2 min{box.min.x + column * width, box.min.y + row * height};
        draw_text_in(list, font, min, {min.x + width, min.y + height}, {0.5F, 0.5F},
                     ink_on(context.canvas.color(style, if_falling ? -change : change)),
                     format_number(static_cast<double>(change), {.decimals = 4}));
    }
}

/// How much of the difference between the two texts the part makes alone; "" where that is not known.
std::string way_to_other_text(const KnockOut& result, const PartWorth& part, const KnockOutQuestion& question) {
    const double whole = result.in_other_text.value_or(result.with_all) - result.with_all, share = result.change(part) / whole;
    if (whole == 0 || !std::isfinite(share)) return "";
    return fmt::format("{} % of the way to text {}", format_number(100 * share, {.decimals = 1}), question.patch->from + 1);
}

void draw_tooltip(PanelContext& context, const KnockOut& result, const PartWorth& part) {
    const auto& [colors, fonts, scale] = context.theme;
    const Ui ui = context.ui();
    const KnockOutQuestion& question = context.view.knock_out.last_question;
    begin_tooltip(ui);
    text_line(ui, fonts.strong, colors.text, part_name(context, part, question.parts));
    if (!part.measured) text_line(ui, fonts.label, colors.muted, "not measured yet");
    else
        text_line(ui, fonts.mono, colors.muted,
                  fmt::format("{} with it, {} {}: {}", format_number(result.with_all, {.decimals = 4}),
                              format_number(part.without, {.decimals = 4}), question.patch ? "with the other text's" : "without",
                              format_number(result.change(part), {.decimals = 4, .plus = true})));
    if (const std::string way = part.measured ? way_to_other_text(result, part, question) : ""; !way.empty())
        text_line(ui, fonts.label, colors.muted, way);
    text_line(ui, fonts.label, colors.faint, fmt::format("click to open {}", opened_name(question.parts)));
    end_tooltip();
}

/// The head that the other views show; null if heads are not measured.
const PartWorth* part_of_shown_head(const PanelContext& context, const KnockOut& result, ReplacedParts parts) {
    const StageId& id = context.view.stage;
    const auto is_shown = [&](const PartWorth& part) {
        return part.index == context.view.head && part.stage.layer == std::max(id.layer, 0) && part.stage.stack == id.stack &&
               part.stage.attention == id.attention;
    };
    const auto found = std::find_if(result.parts.begin(), result.parts.end(), is_shown);
    return parts != ReplacedParts::Heads || found == result.parts.end() ? nullptr : &*found;
}

void draw_map(PanelContext& context, const KnockOut& result, ImVec2 at, ImVec2 room, bool fresh) {
    const ReplacedParts parts = context.view.knock_out.last_question.parts;
    const WorthGrid& grid = result.grid;
    if (result.parts.empty()) return;
    const bool if_falling = helps_if_falling(context.view.knock_out.last_question);
    const HeatmapData data = helps_of(grid, if_falling);
    const float reach = grid.reach > 0 ? grid.reach : 1;
    const HeatmapStyle style{.map = ColorMap::Diverging, .lo = -reach, .hi = reach};
    const std::vector<std::string> rows = row_names(result, parts);
    float label = 0;
    for (const std::string& row : rows) label = std::max(label, text_width(context.theme.fonts.mono_small, row) + context.px(24));
    label = std::min(label, context.px(kLayerLabels));
    const float bar = context.px(kWorthBar);
    const float cell_w = std::min((room.x - label - bar) / static_cast<float>(grid.columns), context.px(kMaxHeadCell));
    // Many heads make narrow columns; their rows stay high enough to read a layer's name.
    const bool of_positions = at_positions(parts);
    const float names = context.px(of_positions ? 60 : 24);
    const float cell_h = std::min({(room.y - names - context.px(6)) / static_cast<float>(grid.rows), context.px(104),
                                   std::max(cell_w, context.px(of_positions ? kPositionRow : kLeastHeadRow))});
    const ImVec2 min{at.x + label, at.y + names};
    const ImVec2 max{min.x + cell_w * static_cast<float>(grid.columns), min.y + cell_h * static_cast<float>(grid.rows)};
    HeatmapOptions options;
    options.rows = {.label = labels_in(rows), .room = label - context.px(8)};
    options.cols = {.label = [&](std::int64_t column) { return column_name(context, result, parts, column); },
                    .room = names - context.px(4)};
    options.zoom = options.pan = options.numbers = false;
    if (const PartWorth* shown = part_of_shown_head(context, result, parts)) options.marks = {.row = shown->row, .col = shown->column};
    HeatmapViewState whole;
    const HeatmapResult hit = heatmap_view(context.ui(), "##worth", min, max, data, style, whole, options);
    draw_numbers(context, grid, style, {min, max}, if_falling);
    if (!fresh) ImGui::GetWindowDrawList()->AddRectFilled(min, max, with_alpha(context.theme.colors.pane, 0.65F));
    const float bar_end = std::min(min.y + std::max(max.y - min.y, context.px(100)), at.y + room.y - context.px(8));
    color_bar(context.ui(), {max.x + context.px(20), min.y}, bar_end, style, {.turned = if_falling});
    const auto part_at = [&](const HeatmapCell& cell) {
        const std::int64_t part = grid.parts[static_cast<std::size_t>(cell.row * grid.columns + cell.col)];
        return part == WorthGrid::kNoPart ? nullptr : &result.parts[static_cast<std::size_t>(part)];
    };
    if (hit.clicked && part_at(*hit.clicked) != nullptr) open_part(context, *part_at(*hit.clicked), parts);
    if (!hit.hovered || part_at(*hit.hovered) == nullptr) return;
    draw_tooltip(context, result, *part_at(*hit.hovered));
}

/// Makes the pane scroll down to the end of what was drawn there.
void leave_room(ImVec2 at, float height) {
    ImGui::SetCursorScreenPos({at.x, at.y + height - 1});
    ImGui::Dummy({1, 1});
}

const char* list_heading(ReplacedParts parts) {
    return at_positions(parts)              ? "Positions by their effect"
           : parts == ReplacedParts::Blocks ? "Blocks by their effect"
                                            : "Heads by their effect";
}

/// Draws the list of the parts with the largest effects; of a long text there are thousands of others.
void draw_list(PanelContext& context, const KnockOut& result, bool fresh) {
    const auto& [colors, fonts, scale] = context.theme;
    const ReplacedParts parts = context.view.knock_out.last_question.parts;
    section_heading(context.ui(), list_heading(parts));
    const std::span order(result.strongest.data(), std::min(result.strongest.size(), kMostListed));
    const double largest = order.empty() ? 0 : std::abs(result.change(result.parts[order.front()]));
    const bool if_falling = helps_if_falling(context.view.knock_out.last_question);
    const float width = ImGui::GetContentRegionAvail().x, line = context.px(kListLine);
    const std::string opens = fmt::format("Click to open {}.", opened_name(parts));
    const PartWorth* const shown = part_of_shown_head(context, result, parts);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    for (std::size_t i = 0; i < order.size(); ++i) {
        ImGui::PushID(static_cast<int>(i));
        const Item item = begin_item(context.ui(), "##part", {width, line}, {.tooltip = opens});
        draw_focus_ring(context.ui(), item, context.px(3));
        ImGui::PopID();
        const PartWorth& part = result.parts[order[i]];
        const double value = result.change(part);
        const Color ink = !fresh ? colors.faint : item.hovered ? colors.accent : &part == shown ? colors.chosen_text : colors.text;
        draw_text_in(list, fonts.label, item.min, item.max, {0, 0.5F}, ink,
                     elide(fonts.label, part_name(context, part, parts), width * 0.54F));
        draw_text_in(list, fonts.mono_small, item.min, item.max, {1, 0.5F}, ink, format_number(value, {.decimals = 4, .plus = true}));
        const float left = item.min.x + width * 0.56F, right = item.max.x - context.px(74), middle = (left + right) / 2;
        list.AddLine({middle, item.min.y + context.px(4)}, {middle, item.max.y - context.px(4)}, colors.line);
        if (std::isfinite(value) && largest > 0 && std::isfinite(largest)) {
            const Color bar = context.canvas.color({.map = ColorMap::Diverging, .lo = -1, .hi = 1}, (value < 0) == if_falling ? 1.F : -1.F);
            value_bar(list, {middle, item.min.y + context.px(8)}, {right, item.max.y - context.px(8)}, value / largest,
                      with_alpha(bar, fresh ? 1.F : 0.35F), context.px(2));
        }
        if (item.pressed) open_part(context, part, parts);
    }
}

/// Asks for the changes and draws them.
void draw_changes(PanelContext& context, const KnockOutQuestion& question) {
    if (const std::string why = why_not_measured(context, question); !why.empty())
        return paragraph(context.ui(), context.theme.fonts.body, context.theme.colors.muted, why);
    // After cancelling, nothing is requested until the button is pressed.
    KnockOutState& state = context.view.knock_out;
    Answer<facet::KnockOut> answer;
    if (!state.stopped) answer = context.ask(facet::KnockOut{question});
    const Answer<facet::KnockOut> earlier = answer ? answer : state.stopped ? answer : context.ask_latest(facet::KnockOut{question});
    if (earlier) state.last = earlier.value;
    // Partial results replace those of an earlier state, except while a run is followed, when a complete earlier result is better.
    const bool partly = !earlier && answer.so_far != nullptr;
    if (partly) state.last = answer.so_far;
    else if (state.last != nullptr && !state.last->whole() && !state.stopped) state.last = nullptr;
    if (earlier || partly) state.last_question = question;
    if (answer.value != nullptr || partly) state.last_state = context.states.shown;
    draw_state(context, question, answer);
    if (state.last == nullptr) return;
    // What was measured before cancelling still holds.
    const bool kept = state.stopped && state.last_question == question && state.last_state == context.states.shown;
    const bool fresh = answer.value != nullptr || partly || kept;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImVec2 room = ImGui::GetContentRegionAvail();
    if (!context.picture_alone) room.y = std::max(room.y, context.px(kLeastPicture));
    const bool listed = !at_positions(state.last_question.parts) || room.x >= context.px(kListBesidePositions);
    const float list_width = listed ? std::min(context.px(kListWidth), room.x * 0.4F) + context.px(24) : 0;
    draw_map(context, *state.last, at, {room.x - list_width, room.y}, fresh);
    if (!listed) return leave_room(at, room.y);
    const float widest_map = context.px(kLayerLabels + kWorthBar) + static_cast<float>(state.last->grid.columns) * context.px(kMaxHeadCell);
    ImGui::SetCursorScreenPos({at.x + std::min(room.x - list_width, widest_map) + context.px(24), at.y});
    const Scrolled scrolled(context.ui(), "##parts_in_order", {list_width - context.px(24), room.y},
                            {.flags = context.picture_alone ? ImGuiWindowFlags_NoScrollbar : ImGuiWindowFlags_None});
    draw_list(context, *state.last, fresh);
}

}  // namespace

void draw_knock_out_view(PanelContext& context) {
    if (!context.ready()) return;
    take_up_question(context.view);
    const KnockOutQuestion question = knock_out_question(context);
    const Scrolled scrolled(context.ui(), "##knock_out", {0, 0},
                            {.flags = context.picture_alone ? ImGuiWindowFlags_NoScrollbar : ImGuiWindowFlags_None});
    draw_heading(context, question);
    draw_changes(context, question);
}

}  // namespace attn::app
