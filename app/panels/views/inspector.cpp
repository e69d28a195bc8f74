#include "app/panels/views/drawn_views.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <tuple>

#include "app/panels/compare/comparison.hpp"
#include "app/panels/compare/shown_maps.hpp"
#include "app/panels/edit/cell_edit.hpp"
#include "app/panels/kit/figure.hpp"
#include "app/panels/kit/labels.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/kit/scrolled.hpp"
#include "app/panels/kit/stage_words.hpp"
#include "app/panels/maps/gradients.hpp"
#include "app/panels/views/dump_findings.hpp"
#include "app/panels/views/missing_head.hpp"
#include "app/panels/views/token_piece.hpp"
#include "app/panels/write/writing_actions.hpp"
#include "app/session/values/explanation.hpp"
#include "app/session/values/gradients.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/hatching.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/value_bar.hpp"
#include "engine/plan/head_of.hpp"

namespace attn::app {
namespace {

constexpr float kLine = 23, kButtonHigh = 34, kShareColumn = 58, kLeastBar = 12;
constexpr std::size_t kFew = 5;

/// Formats a number of the arithmetic; whole numbers without decimals.
std::string number(double value, int decimals = 3) { return format_number(value, {.decimals = value == std::floor(value) ? 0 : decimals}); }
std::string signed_number(double value) { return format_number(value, {.decimals = 3, .plus = true}); }

/// A clickable number that leads to its cell.
void operand_number(PanelContext& context, const Operand& operand, ImVec2 right_top, Color color, int id) {
    ImFont* font = context.theme.fonts.mono_small;
    const std::string text = number(operand.value);
    const float width = text_width(font, text);
    const ImVec2 at{right_top.x - width, right_top.y};
    ImGui::SetCursorScreenPos({at.x - context.px(2), at.y - context.px(3)});
    ImGui::PushID(id);
    const bool stage = operand.cell.parameter.empty() && !operand.constant;
    const Item item =
        begin_item(context.ui(), "##operand", {width + context.px(4), context.px(kLine - 3)}, {.explains_itself = true, .keyboard = stage});
    ImGui::PopID();
    draw_focus_ring(context.ui(), item, context.px(3));
    ImDrawList& list = *ImGui::GetWindowDrawList();
    draw_text(list, font, at, color, text);
    if (item.pressed && stage) follow_to(context.view, operand.cell);
    if (!item.hovered) return;
    list.AddLine({at.x, at.y + context.px(15)}, {at.x + width, at.y + context.px(15)}, color);
    begin_tooltip_beside(context.ui());
    text_line(context.ui(), context.theme.fonts.mono, context.theme.colors.text,
              operand.label + " = " + format_exact(static_cast<float>(operand.value)));
    text_line(context.ui(), context.theme.fonts.label, context.theme.colors.faint,
              stage              ? "click: where this comes from"
              : operand.constant ? "from the settings"
                                 : "a parameter of the model");
    if (const std::string packed = context.numbers().packing(operand.cell); !packed.empty())
        text_line(context.ui(), context.theme.fonts.label, context.theme.colors.faint, packed);
    end_tooltip();
}

/// A bar whose length is proportional to the number: to either side of a centre line, or from the left if no number is negative.
void term_bar(const PanelContext& context, ImVec2 min, ImVec2 max, double value, const ListedTerms& bars) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float middle = bars.any_negative ? (min.x + max.x) / 2 : min.x;
    const Color color = context.canvas.color({.map = ColorMap::Diverging, .lo = -1, .hi = 1}, value < 0 ? -1.F : 1.F);
    list.AddLine({middle, min.y - context.px(5)}, {middle, max.y + context.px(5)}, colors.line);
    if (bars.largest > 0 && std::isfinite(value)) value_bar(list, {middle, min.y}, max, value / bars.largest, color, context.px(2));
}

/// Of a mixture, each term belongs to a token, which names it.
bool is_of_token(const Term& term) { return term.key >= 0 && term.operands.size() == 2; }

/// The label of a term: for keys and vocabulary entries their token if there is room, otherwise the index.
std::string term_label(const PanelContext& context, const CellRef& cell, const Term& term) {
    if (is_of_token(term)) return index_label(context, weights_of(cell.stage), Axis::S, term.key);
    const bool over_keys = cell.stage.stage == Stage::Softmax || cell.stage.stage == Stage::Weights,
               over_vocabulary = cell.stage.stage == Stage::Probabilities;
    if ((!over_keys && !over_vocabulary) || term.key < 0) return term.label;
    const bool over_queries = context.structure().plan->at(cell.stage).op == Op::SoftmaxOverQueries;
    const Axis axis = over_keys ? (over_queries ? Axis::T : Axis::S) : Axis::V;
    return term.label + " " + index_label(context, cell.stage, axis, term.key);
}

/// `whole`: of a softmax, what all its terms add up to, of which each has a share; else 0.
void draw_term(PanelContext& context, const CellRef& cell, const Term& term, ImVec2 at, float width, const ListedTerms& bars, double whole,
               int id) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    if (whole > 0) {
        draw_text_in(list, fonts.mono_small, at, {at.x + width, at.y + context.px(14)}, {1, 0}, colors.text,
                     term.masked ? "0" : format_number(term.value / whole, {.decimals = 4}));
        width -= context.px(kShareColumn);
    }
    const bool narrow = term.operands.size() > 1;
    // A token takes the room of two digits more than an index; a single number makes room for its bar where the pane is narrow.
    const float token = narrow && is_of_token(term) ? context.px(28) : 0;
    const float numbers = token + context.px(!narrow && width < context.px(300) ? 112 : 152);
    draw_text(list, fonts.mono_small, at, term.own ? colors.chosen_text : colors.faint,
              elide(fonts.mono_small, term_label(context, cell, term), narrow ? context.px(30) + token : numbers - context.px(56)));
    const float y = at.y;
    if (term.masked) {
        draw_text_in(list, fonts.mono_small, {at.x, y}, {at.x + width, y + context.px(14)}, {1, 0}, colors.faint, kMasked);
        draw_hatching(list, context.theme, {at.x + numbers - context.px(2), y + context.px(2)},
                      {at.x + width - context.px(64), y + context.px(14)});
        return;
    }
    const Color inks[2] = {colors.axis(Axis::T), colors.axis(Axis::S)};
    if (term.operands.size() >= 2) {
        operand_number(context, term.operands[0], {at.x + token + context.px(82), y}, inks[0], id * 4);
        draw_text(list, fonts.mono_small, {at.x + token + context.px(90), y}, colors.faint, term.divides ? "÷" : "×");
        operand_number(context, term.operands[1], {at.x + numbers, y}, inks[1], id * 4 + 1);
    } else if (term.operands.size() == 1) {
        operand_number(context, term.operands[0], {at.x + numbers, y}, inks[0], id * 4);
    }
    const ImVec2 bar{at.x + numbers + context.px(12), y + context.px(2)}, bar_end{at.x + width - context.px(66), y + context.px(14)};
    if (bar_end.x - bar.x >= context.px(kLeastBar)) term_bar(context, bar, bar_end, term.value, bars);
    draw_text_in(list, fonts.mono_small, {at.x, y}, {at.x + width, y + context.px(14)}, {1, 0}, colors.text,
                 term.operands.size() >= 2 ? signed_number(term.value) : number(term.value));
}

/// "12 others" with what they add up to; a click opens the whole list. Returns whether that is open.
void draw_others(PanelContext& context, std::size_t count, std::string_view sum) {
    bool& all = context.view.inspector.all;
    if (value_row(context.ui(), all ? "the largest only" : fmt::format("{} others", count), all ? "" : sum,
                  all ? "Shows the largest numbers again." : "Shows the whole list, and what this number is used for."))
        all = !all;
}

/// Above the terms of a softmax: what their three numbers are.
void draw_softmax_heads(const PanelContext& context) {
    const auto& colors = context.theme.colors;
    const auto& fonts = context.theme.fonts;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    const float score = context.px(width - context.px(kShareColumn) < context.px(300) ? 112 : 152);
    const float power = width - context.px(kShareColumn);
    const auto head = [&](float right, std::string_view words) {
        draw_text_in(*ImGui::GetWindowDrawList(), fonts.caption, at, {at.x + right, at.y + context.px(14)}, {1, 0}, colors.faint, words);
    };
    const std::string_view whole = "e^(score − max)";
    head(score, "score");
    head(power, text_width(fonts.caption, whole) + context.px(8) < power - score ? whole : "e^(…)");
    head(width, "share");
    ImGui::Dummy({width, context.px(18)});
}

bool is_softmax(const CellRef& cell) { return is_probability(cell.stage.stage); }

void draw_terms(PanelContext& context, const CellRef& cell, const std::vector<Term>& terms, const ListedTerms& listed) {
    if (terms.empty()) return;
    double whole = is_softmax(cell) ? listed.others : 0;
    for (const std::size_t i : listed.few) whole += is_softmax(cell) && !terms[i].masked ? terms[i].value : 0;
    const float width = ImGui::GetContentRegionAvail().x;
    const ImVec2 origin = ImGui::GetCursorScreenPos();
    const bool all = context.view.inspector.all;
    const std::vector<std::size_t>& shown = all ? listed.shown : listed.few;
    float y = origin.y;
    for (const std::size_t i : shown) {
        draw_term(context, cell, terms[i], {origin.x, y}, width, listed, whole, static_cast<int>(i));
        y += context.px(kLine);
    }
    ImGui::SetCursorScreenPos({origin.x, y});
    if (all && !listed.left_out.empty()) paragraph(context.ui(), context.theme.fonts.label, context.theme.colors.faint, listed.left_out);
    if (all || shown.size() < terms.size())
        draw_others(context, terms.size() - shown.size(), number(whole > 0 ? listed.others / whole : listed.others, whole > 0 ? 4 : 3));
}

/// Says how the file packs the weight of the largest product, if it packs weights in blocks.
void draw_packing(const PanelContext& context, const std::vector<Term>& terms, const std::vector<std::size_t>& shown) {
    const Term* largest = nullptr;
    for (const std::size_t i : shown)
        if (largest == nullptr || std::abs(terms[i].value) > std::abs(largest->value)) largest = &terms[i];
    if (largest == nullptr || largest->operands.empty()) return;
    const Operand& weight = largest->operands.back();
    const std::string packed = context.numbers().packing(weight.cell);
    if (packed.empty()) return;
    gap(context.ui(), 4);
    paragraph(context.ui(), context.theme.fonts.label, context.theme.colors.faint,
              fmt::format("{} is unpacked from {}. Point at another weight to see its block.", weight.label, packed));
}

void draw_value_line(const PanelContext& context, std::string_view label, std::string_view value, Color ink, ImFont* font) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    draw_text(list, context.theme.fonts.mono_small, at, context.theme.colors.muted,
              elide(context.theme.fonts.mono_small, label, width - text_width(font, value) - context.px(8)));
    draw_text_in(list, font, at, {at.x + width, at.y + context.px(14)}, {1, 0}, ink, value);
    ImGui::SetCursorScreenPos({at.x, at.y + context.px(kLine)});
    ImGui::Dummy({width, 0});
    ImGui::SetCursorScreenPos({at.x, at.y + context.px(kLine)});
}

/// "" if there is none.
std::string gradient_of(const PanelContext& context, const CellRef& cell) {
    const std::optional<float> gradient = context.numbers().gradient(cell);
    return gradient ? number(static_cast<double>(*gradient), 4) : "";
}

/// The number of the picture, where that is the loss gradient; "" otherwise.
std::string gradient_in_picture(const PanelContext& context, const CellRef& cell) {
    const std::string number = shows_gradients(context) ? gradient_of(context, cell) : "";
    return number.empty() ? "" : "∂ " + number;
}

/// The loss gradient with respect to this number. For a large model gradients are expensive, so they are shown only if switched on.
void draw_gradient(PanelContext& context, const CellRef& cell) {
    if (!context.structure().config.lm_head || (!context.snapshot.is_whole() && !context.wants_gradients())) return;
    if (const std::string gradient = gradient_of(context, cell); !gradient.empty())
        draw_value_line(context, "gradient of the loss", gradient, context.theme.colors.text, context.theme.fonts.mono_small);
}

void draw_steps(PanelContext& context, const Provenance& provenance) {
    const Palette& colors = context.theme.colors;
    for (const ArithmeticStep& step : provenance.steps)
        draw_value_line(context, step.label, number(step.value), colors.text, context.theme.fonts.mono_small);
    separator(context.ui());
    draw_value_line(context, "result", provenance.masked ? kMasked : number(provenance.recorded, 4), colors.text, context.theme.fonts.mono);
}

/// A title such as "because → sat" in the axis colours, with the number on the right.
void draw_title(const PanelContext& context, const CellRef& cell, std::string_view value) {
    const auto& [colors, fonts, scale] = context.theme;
    const Shape shape = context.structure().shape_of(cell.stage);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    const float room = width - text_width(fonts.mono_body, value) - context.px(10);
    float x = at.x;
    for (int a = std::max(shape.rank() - 2, 1); a < shape.rank(); ++a) {
        const Axis axis = shape[a].axis;
        std::string text = index_label(context, cell.stage, axis, cell.index[static_cast<std::size_t>(a)]);
        if (axis != Axis::T && axis != Axis::S && axis != Axis::V) text = fmt::format("{}{}", axis_letter(axis), text);
        if (a > std::max(shape.rank() - 2, 1)) {
            draw_text(list, fonts.mono_body, {x, at.y}, colors.faint, is_attention_map(cell.stage.stage) ? " → " : " · ");
            x += text_width(fonts.mono_body, " → ");
        }
        const bool last = a == shape.rank() - 1;
        text = elide(fonts.mono_body, text, std::max(last ? room - (x - at.x) : room * 0.55F, context.px(30)));
        draw_text(list, fonts.mono_body, {x, at.y}, colors.axis(axis), text);
        x += text_width(fonts.mono_body, text);
    }
    draw_text_in(list, fonts.mono_body, at, {at.x + width, at.y + context.px(18)}, {1, 0}, colors.text, value);
    ImGui::Dummy({width, context.px(26)});
}

void draw_where_it_goes(PanelContext& context, const std::vector<Operand>& next) {
    if (next.empty()) return;
    gap(context.ui(), 14);
    section_heading(context.ui(), "Where it goes");
    int id = 0;
    for (const Operand& operand : next) {
        ImGui::PushID(id++);
        const bool masked = context.numbers().is_masked(operand.cell, context.view.stage);
        const std::string& name = operand.label;
        if (value_row(context.ui(), name, masked ? kMasked : number(operand.value, 4), "Click to go there."))
            follow_to(context.view, operand.cell);
        ImGui::PopID();
    }
}

/// Where the selected query looks: the largest weights of its row, what is left for the others, and the sum. Returns false if the row is
/// not known (yet).
bool draw_where_it_looks(PanelContext& context, const CellRef& cell, std::int64_t query) {
    const StageId id = cell.stage.stage == Stage::Dropped ? cell.stage : weights_of(cell.stage);
    const Matrix weights = context.numbers().with_row(context.beside(id, context.view.head), query);
    if (weights.empty() || query >= weights.data.rows || !weights.data.knows(query, 0)) return false;
    const auto& [colors, fonts, scale] = context.theme;
    section_heading(context.ui(), fmt::format("Where “{}” looks", index_label(context, id, Axis::T, query)));
    constexpr FigureLook kLook{.label = 84, .number = 60};
    std::vector<std::int64_t> keys;
    double sum = 0;
    for (std::int64_t s = 0; s < weights.data.cols; ++s) {
        if (weights.masked(query, s)) continue;
        keys.push_back(s);
        sum += static_cast<double>(weights.at(query, s));
    }
    const auto weight = [&](std::int64_t s) { return weights.at(query, s); };
    const std::size_t shown = context.view.inspector.all ? std::min<std::size_t>(keys.size(), 64)
                              : keys.size() <= kFew + 1  ? keys.size()
                                                         : kFew;
    // What is not a number comes first: it is what one has to see.
    const auto place = [&](std::int64_t s) { return std::isnan(weight(s)) ? std::pair(-HUGE_VALF, s) : std::pair(-weight(s), s); };
    std::partial_sort(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(shown), keys.end(),
                      [&](std::int64_t a, std::int64_t b) { return place(a) < place(b); });
    const ImVec2 origin = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x, line = context.px(22);
    const double largest = keys.empty() ? 0 : static_cast<double>(weight(keys.front()));
    const std::optional<std::int64_t> chosen = context.view.selection().on(Axis::S);
    double rest = sum;
    for (std::size_t i = 0; i < shown; ++i) {
        const auto value = static_cast<double>(weight(keys[i]));
        rest -= value;
        const bool is_chosen = chosen == keys[i];
        const std::string label = index_label(context, id, Axis::S, keys[i]);
        draw_figure(context, {origin.x, origin.y + static_cast<float>(i) * line}, width,
                    {label, is_chosen ? colors.axis(Axis::S) : colors.muted, largest > 0 ? value / largest : std::nan(""),
                     is_chosen ? colors.chosen : colors.accent, format_number(value, {.decimals = 4})},
                    kLook);
    }
    ImGui::SetCursorScreenPos({origin.x, origin.y + static_cast<float>(shown) * line});
    if (context.view.inspector.all || shown < keys.size())
        draw_others(context, keys.size() - shown, format_number(std::max(rest, 0.0), {.decimals = 4}));
    draw_value_line(context, "sum", format_number(sum, {.decimals = 4}), colors.text, fonts.mono_small);
    return true;
}

/// The maps of the cell's attention, up to the shown one.
std::vector<StageId> stages_up_to(const PanelContext& context, const CellRef& cell) {
    std::vector<StageId> stages;
    for (const PlanNode& node : context.structure().plan->nodes()) {
        const StageId& id = node.id;
        const bool same = id.layer == cell.stage.layer && id.stack == cell.stage.stack && id.attention == cell.stage.attention;
        if (!same || !is_attention_map(id.stage)) continue;
        stages.push_back(id);
        if (id == cell.stage) break;
    }
    return stages;
}

/// The heading of the block; where that does not fit, it is folded until it is asked for. Whether its contents are to be drawn.
bool begin_how_it_came_about(PanelContext& context, std::size_t lines) {
    constexpr float kHeading = 26, kValueRow = 30;
    constexpr const char* kTitle = "How it came about";
    InspectorState& state = context.view.inspector;
    gap(context.ui(), 12);
    const float needed = context.px(kHeading + kValueRow * static_cast<float>(lines));
    if (state.all || ImGui::GetContentRegionAvail().y >= needed) {
        section_heading(context.ui(), kTitle);
        return true;
    }
    if (fold_heading(context.ui(), kTitle, state.unfolded, "", {.tooltip = "The same cell in the stages before."}))
        state.unfolded = !state.unfolded;
    return state.unfolded;
}

/// What a stage did to the number, in plain words; of recorded code, which may do otherwise, its name.
std::string words_of_stage(const PanelContext& context, const StageId& id, bool masked) {
    const std::string name = context.structure().plan->name_of(id);
    if (context.document.recorded) return name;
    switch (id.stage) {
    case Stage::Scores:
        return "q · k";
    case Stage::Scaled: {
        const Structure& structure = context.structure();
        const std::string words = scale_words(structure.plan->at(id).settings.factor, structure.config.head_size());
        return words.empty() ? name : words;
    }
    case Stage::Masked:
        return masked ? "may it look? no" : "may it look? yes";
    case Stage::Weights:
        return "eˣ ÷ sum";
    default:
        return name;
    }
}

/// The number of this cell in each of the attention's stages up to the shown one; a click goes there.
void draw_how_it_came_about(PanelContext& context, const CellRef& cell) {
    if (!is_attention_map(cell.stage.stage)) return;
    const std::vector<StageId> stages = stages_up_to(context, cell);
    if (!begin_how_it_came_about(context, stages.size())) return;
    for (const StageId& id : stages) {
        const Matrix map = context.numbers().with_row(context.beside(id, context.view.head), cell.index[2]);
        if (map.empty() || cell.index[2] >= map.data.rows || !map.data.knows(cell.index[2], 0)) continue;
        const bool masked = map.masked(cell.index[2], cell.index[3]);
        const std::string value = masked ? std::string(kMasked) : number(static_cast<double>(map.at(cell.index[2], cell.index[3])), 4);
        const std::string tooltip = fmt::format("{}: click to go there.", context.structure().plan->name_of(id));
        if (value_row(context.ui(), words_of_stage(context, id, masked), value, tooltip) && id != cell.stage) {
            CellRef there = cell;
            there.stage = id;
            follow_to(context.view, there);
        }
    }
}

/// The head is framed there; the question is about the word that comes next.
void leave_head_out(PanelContext& context) {
    KnockOutState& state = context.view.knock_out;
    state.measure = AnswerMeasure::Probability;
    state.parts = ReplacedParts::Heads;
    state.from.reset();
    context.view.view = View::KnockOut;
}

/// Changes the number, or shows what happens without its head; at the foot of the pane.
void draw_cell_buttons(PanelContext& context, const CellRef& cell) {
    const Ui ui = context.ui();
    const float room = ImGui::GetContentRegionAvail().x / context.theme.scale;
    const bool of_head = has_heads(context.structure().shape_of(cell.stage)) && could_write(context);
    const float width = of_head ? (room - 12) / 2 : room;
    if (of_head) {
        if (button(ui, "Leave it out",
                   {.width = width,
                    .height = kButtonHigh,
                    .notes = {.tooltip = "Knock-out: what the answer is without this head, and each other."}}))
            leave_head_out(context);
        ImGui::SameLine(0, context.px(12));
    }
    if (button(ui, "Change this cell",
               {.width = width,
                .height = kButtonHigh,
                .notes = {.tooltip = "Sets it to a number of your own; everything after it is recomputed (Enter)."}}))
        edit_chosen_cell(context);
}

/// The likeliest tokens after the explained position.
void draw_likely_tokens(PanelContext& context, const StageId& stage, const std::vector<LikelyToken>& likely) {
    if (likely.empty()) return;
    const auto& [colors, fonts, scale] = context.theme;
    gap(context.ui(), 14);
    section_heading(context.ui(), "Most likely next");
    const ImVec2 origin = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    const float largest = likely[0].probability;
    float y = origin.y;
    for (const auto& [id, probability] : likely) {
        const std::string label = index_label(context, stage, Axis::V, id);
        draw_figure(context, {origin.x, y}, width,
                    {label, colors.muted, largest > 0 ? static_cast<double>(probability / largest) : std::nan(""), colors.accent,
                     number(static_cast<double>(probability))});
        y += context.px(22);
    }
    ImGui::SetCursorScreenPos({origin.x, y});
    ImGui::Dummy({width, 1});
}

/// Until a new explanation is ready, the last one stays on screen.
std::shared_ptr<const Explanation> explanation_of(const PanelContext& context, const CellRef& cell) {
    InspectorState& state = context.view.inspector;
    if (const auto answer = context.ask(context.numbers().explanation(cell)))
        std::tie(state.last, state.serial) = std::pair(answer.value, context.snapshot.serial);
    return state.serial == context.snapshot.serial ? state.last : nullptr;
}

/// Whether that explanation is still of the stage before, and has been for longer than a glance.
bool waits_long(const PanelContext& context, const Explanation& explanation, const CellRef& cell) {
    constexpr double kGlance = 0.25;
    std::optional<double>& since = context.view.inspector.waits_since;
    if (explanation.cell.stage == cell.stage && explanation.cell.parameter == cell.parameter) since.reset();
    else if (!since) since = context.now;
    return since && context.now - *since > kGlance;
}

void draw_nothing_chosen(const PanelContext& context) {
    paragraph(context.ui(), context.theme.fonts.body, context.theme.colors.muted,
              "Point at a cell to see the arithmetic behind its number. Click to select it, Esc to deselect.");
}

}  // namespace

namespace {

/// The number that the picture shows of the cell, where that is not the number itself.
void draw_measured(PanelContext& context, const CellRef& cell) {
    if (!shows_maps(context.view.view)) return;
    const std::string words = context.view.view == View::Step ? "" : measure_words(context, cell.stage);
    if (words.empty() && !context.view.compare.on()) return;
    const Shape shape = context.structure().shape_of(cell.stage);
    if (shape.rank() < 2) return;
    const auto axes = static_cast<std::size_t>(shape.rank());
    const std::int64_t row = cell.index[axes - 2], col = cell.index[axes - 1],
                       head = shape.has(Axis::H) ? cell.index[1] : context.view.head;
    const Matrix map = context.numbers().with_row(shown_slice(context, cell.stage, head), row);
    if (map.empty() || row >= map.data.rows || col >= map.data.cols || !map.data.knows(row, col)) return;
    if (map.is_difference) draw_difference_row(context, map, row, col);
    else if (!words.empty())
        value_row(context.ui(), "in the picture", map.masked(row, col) ? std::string("left out") : format_number(map.at(row, col)),
                  context.structure().plan->name_of(cell.stage) + words + ".");
}

/// The formula, its terms with their column heads, and the steps after them.
void draw_arithmetic_list(PanelContext& context, const CellRef& cell, const Explanation& explanation) {
    const Provenance& provenance = explanation.provenance;
    const auto& [colors, fonts, scale] = context.theme;
    const std::vector<std::string> lines = lines_of(fonts.mono_small, provenance.formula, ImGui::GetContentRegionAvail().x);
    paragraph(context.ui(), fonts.mono_small, colors.text, fmt::format("{}", fmt::join(lines, "\n")));
    gap(context.ui(), 6);
    if (is_softmax(cell)) draw_softmax_heads(context);
    draw_terms(context, cell, provenance.terms, explanation.listed);
    draw_packing(context, provenance.terms, explanation.listed.shown);
    draw_steps(context, provenance);
}

/// What is known about a piece, and where it goes.
void draw_piece(PanelContext& context) {
    draw_token_piece(context);
    const std::optional<ChosenPiece> chosen = chosen_piece(context);
    const std::optional<CellRef> cell = selected_cell(context.view, context.structure(), context.view.selection());
    if (!cell || !chosen || chosen->of_other) return;
    if (const std::shared_ptr<const Explanation> explanation = explanation_of(context, *cell);
        explanation != nullptr && explanation->cell.stage.stage == Stage::Tokens)
        draw_where_it_goes(context, explanation->next);
}

/// The cell under the mouse, or else the chosen one.
std::optional<CellRef> explained_cell(const PanelContext& context) {
    const Structure& structure = context.structure();
    const std::optional<CellRef> cell = selected_cell(context.view, structure, context.view.selection());
    return cell ? cell : selected_cell(context.view, structure, context.view.locked);
}

void draw_cell_blocks(PanelContext& context) {
    const Ui ui = context.ui();
    const Structure& structure = context.structure();
    std::optional<CellRef> cell = explained_cell(context);
    const std::shared_ptr<const Explanation> explanation = cell ? explanation_of(context, *cell) : nullptr;
    const bool too_old = explanation != nullptr && waits_long(context, *explanation, *cell);
    const std::string name = cell ? head_name(structure, explanation != nullptr && !too_old ? explanation->cell : *cell) : "";
    section_heading(ui, fmt::format("This cell{}{}{}", words_of_side(context), name.empty() ? "" : " · ", name));
    if (!cell) {
        draw_nothing_chosen(context);
        return;
    }
    if (explanation == nullptr || too_old) {
        const std::string problem = context.ask(context.numbers().explanation(*cell)).problem;
        if (!problem.empty()) return paragraph(ui, context.theme.fonts.body, context.theme.colors.bad, problem);
        if (too_old) paragraph(ui, context.theme.fonts.body, context.theme.colors.muted, "Computing …");
        return;
    }
    cell = explanation->cell;
    const Provenance& provenance = explanation->provenance;
    const std::string gradient = gradient_in_picture(context, *cell);
    draw_title(context, *cell, !gradient.empty() ? gradient : provenance.masked ? kMasked : number(provenance.recorded, 4));
    draw_measured(context, *cell);
    paragraph(ui, context.theme.fonts.label, context.theme.colors.muted, provenance.sentence);
    gap(ui, 10);
    const bool map = is_attention_map(cell->stage.stage), weights = cell->stage.stage == Stage::Weights;
    const bool looks = map && draw_where_it_looks(context, *cell, cell->index[2]);
    if (looks && (context.view.inspector.all || !weights)) gap(ui, 12);
    // The terms of a softmax are the row that is shown already.
    if (!looks || !weights || context.view.inspector.all) draw_arithmetic_list(context, *cell, *explanation);
    draw_how_it_came_about(context, *cell);
    draw_missing_head(context, *cell);
    if (context.view.inspector.all) {
        draw_gradient(context, *cell);
        draw_where_it_goes(context, explanation->next);
    }
    draw_likely_tokens(context, explanation->cell.stage, explanation->likely_next);
}

}  // namespace

void draw_inspector(PanelContext& context) {
    if (!context.ready()) return section_heading(context.ui(), "This cell");
    if (is_about_dump(context)) return draw_recorded_cell(context);
    const bool step = context.view.view == View::Step;
    if (step && context.view.stage.stage == Stage::Tokens) return draw_piece(context);
    const std::optional<CellRef> cell = explained_cell(context);
    if (!step || context.picture_alone || !cell) return draw_cell_blocks(context);
    // The buttons keep their place at the foot of the pane; what is above them scrolls.
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float buttons = std::floor(ImGui::GetContentRegionAvail().y) - context.px(kButtonHigh);
    draw_scrolled_column(context, "##cell_blocks", buttons - context.px(8), draw_cell_blocks);
    ImGui::SetCursorScreenPos({at.x, at.y + buttons});
    draw_cell_buttons(context, *cell);
}

}  // namespace attn::app
