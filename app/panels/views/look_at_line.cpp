#include "app/panels/views/look_at_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/panels/kit/asked_and_shown.hpp"
#include "app/panels/kit/labels.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/kit/notice_place.hpp"
#include "app/panels/kit/problem_sentence.hpp"
#include "app/panels/kit/read_with_stories.hpp"
#include "app/panels/kit/stage_words.hpp"
#include "app/panels/maps/gradients.hpp"
#include "app/panels/write/writing_actions.hpp"
#include "app/session/document/new_words.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/document/weights_origin.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kEyeLine = 26, kIndent = 26, kGapBeforeLink = 14;

/// Whether a hint written for this text is about what is shown: its layer, head and cell. One about a mistake is true of all of them.
bool is_in_place(const PanelContext& context, const std::optional<Look>& look) {
    if (context.document.forward.mistaken() || !look || !is_layer_stage(look->stage.stage)) return true;
    if (look->stage.layer != context.view.stage.layer) return false;
    if (context.view.view != View::Step) return true;  // which shows all heads
    return look->stage.stage == context.view.stage.stage && look->head == context.view.head &&
           std::all_of(look->cell.begin(), look->cell.end(),
                       [&](const auto& one) { return context.view.locked.on(one.first) == one.second; });
}

/// The largest number of a row that the mask leaves.
struct LargestOfRow {
    std::string query, key;
    double number = 0;
    std::int64_t open = 0, keys = 0;  ///< of which so many are not masked
};

std::optional<LargestOfRow> largest_of_row(PanelContext& context, const StageId& id, std::int64_t query) {
    const Matrix map = context.numbers().with_row(context.beside(id, context.view.head), query);
    if (map.empty() || query >= map.data.rows || !map.data.knows(query, 0)) return {};
    std::int64_t best = -1, open = 0;
    for (std::int64_t s = 0; s < map.data.cols; ++s) {
        if (map.masked(query, s)) continue;
        ++open;
        if (best < 0 || map.at(query, s) > map.at(query, best)) best = s;
    }
    if (best < 0) return {};
    return LargestOfRow{index_label(context, id, Axis::T, query), index_label(context, id, Axis::S, best),
                        static_cast<double>(map.at(query, best)), open, map.data.cols};
}

std::string words_of_map(PanelContext& context, const StageId& id, std::int64_t query) {
    const std::optional<LargestOfRow> row = largest_of_row(context, id, query);
    if (!row) return "";
    if (id.stage == Stage::Masked)
        return fmt::format("“{}” may look at {} of {} {}s.", row->query, row->open, row->keys, token_noun(context.snapshot));
    if (id.stage == Stage::Scores)
        return fmt::format("“{}” fits “{}” best: {}.", row->query, row->key, format_number(row->number, {.decimals = 2}));
    return fmt::format("“{}” takes most from “{}”: {}.", row->query, row->key, percent_words(row->number));
}

/// What is mixed for a word comes mostly from one other word.
std::string words_of_mixture(PanelContext& context, const StageId& id, std::int64_t query) {
    const PlanNode& node = context.structure().plan->at(id);
    if (node.inputs.empty() || !is_attention_map(node.inputs.front().stage)) return "";
    const std::optional<LargestOfRow> row = largest_of_row(context, node.inputs.front(), query);
    return row ? fmt::format("{} of this row is what “{}” has to give.", percent_words(row->number), row->key) : "";
}

/// By how much attention has changed the row of a word.
std::string words_of_addition(PanelContext& context, const StageId& id, std::int64_t query) {
    const PlanNode& node = context.structure().plan->at(id);
    if (node.inputs.empty()) return "";
    const Matrix before = context.beside(node.inputs.front(), context.view.head), after = context.beside(id, context.view.head);
    if (before.empty() || after.empty() || query >= before.data.rows || query >= after.data.rows || before.data.cols != after.data.cols)
        return "";
    double added = 0, length = 0;
    for (std::int64_t c = 0; c < after.data.cols; ++c) {
        const auto was = static_cast<double>(before.at(query, c)), is = static_cast<double>(after.at(query, c));
        added += (is - was) * (is - was);
        length += was * was;
    }
    const double share = std::sqrt(added / length);
    if (!std::isfinite(share)) return "";
    return fmt::format("Attention changes the row of “{}” by {} %: what it adds is that long beside what came in.",
                       index_label(context, id, Axis::T, query), format_number(100 * share, {.decimals = 0}));
}

std::string words_of_next(PanelContext& context, const StageId& id, std::int64_t query) {
    const std::optional<CellRef> cell = selected_cell(context.view, context.structure(), context.view.locked);
    if (!cell || cell->stage != id) return "";
    const auto answer = context.ask(context.numbers().explanation(*cell));
    if (!answer || answer->likely_next.empty()) return "";
    const LikelyToken& first = answer->likely_next.front();
    return fmt::format("“{}” is likeliest after “{}”: {}.", index_label(context, id, Axis::V, first.id),
                       index_label(context, id, Axis::T, query), percent_words(static_cast<double>(first.probability)));
}

/// What the chosen row says by itself; "" if nothing is chosen or known.
std::string words_of_row(PanelContext& context) {
    const StageId& id = context.view.stage;
    const std::optional<std::int64_t> query = context.view.locked.on(Axis::T);
    if (context.view.view != View::Step || !query || context.view.compare.on() || shows_gradients(context)) return "";
    std::string words;
    switch (id.stage) {
    case Stage::Scores:
    case Stage::Masked:
        return words_of_map(context, id, *query);
    case Stage::Residual1:
        return words_of_addition(context, id, *query);
    case Stage::Weights:
        words = words_of_map(context, id, *query);
        break;
    case Stage::Context:
        words = words_of_mixture(context, id, *query);
        break;
    case Stage::Probabilities:
        words = words_of_next(context, id, *query);
        break;
    default:
        return "";
    }
    return words.empty() || weights_origin(context.document).learned ? words
                                                                     : words + " With random weights, such preferences mean nothing.";
}

/// Of a chosen cell whose number is the person's own; "" for others.
std::string words_of_edit(const PanelContext& context) {
    const ViewState& view = context.view;
    const std::optional<std::int64_t> row = view.locked.on(Axis::T), column = view.locked.on(Axis::S);
    if (view.view != View::Step || !row || !column || context.outdated) return "";
    const std::vector<Edit>& edits = context.structure().settings.edits;
    const auto is = [](std::int64_t asked, std::int64_t shown) { return asked == Edit::kAll || asked == shown; };
    const auto own = std::find_if(edits.rbegin(), edits.rend(), [&](const Edit& edit) {
        return edit.on && edit.kind == EditKind::Set && edit.at == view.stage && is(edit.sequence, view.batch) &&
               is(edit.head, view.head) && edit.row == *row && edit.column == *column;
    });
    if (own == edits.rend()) return "";
    return fmt::format("You set this cell to {}. Everything after it is computed from that.", format_exact(static_cast<float>(own->value)));
}

/// What a model can do with words that it has never read, once for each text: until another place is looked at.
std::string words_of_new_words(PanelContext& context) {
    if (context.snapshot.state == nullptr || context.outdated) return "";
    ViewState& view = context.view;
    NewWordsTold& told = view.text_row.told;
    const std::shared_ptr<const Setup>& setup = context.snapshot.state->setup;
    const auto text = std::min(static_cast<std::size_t>(view.batch), setup->texts.size() - 1);
    if (told.setup.lock() != setup || told.text != text) {
        if (told.texts != setup->texts) told = {.texts = setup->texts, .stage = view.stage, .head = view.head, .cell = view.locked};
        told.setup = setup;
        told.text = text;
        Setup of_shown = *setup;
        of_shown.texts = {setup->texts[text]};
        told.sentence = new_words_sentence(of_shown);
    }
    if (told.stage != view.stage || told.head != view.head || told.cell != view.locked) return "";
    return told.sentence;
}

/// What cannot be computed, in the place of the eye's sentence, so that nothing moves.
std::string line_of_problem(const PanelContext& context) {
    // Of a text that is not read, the row says what is shown instead.
    return problem_sentence(parts_refused(context).has(SetupPart::Text) ? context.snapshot.problem + "." : problem_words(context));
}

void draw_problem_in(PanelContext& context, const Box& line) {
    const auto& [colors, fonts, scale] = context.theme;
    const std::string words = line_of_problem(context);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const ImVec2 text{line.min.x + context.px(kIndent), line.min.y};
    list.AddCircleFilled({line.min.x + context.px(8), line.min.y + font_size(fonts.label) / 2}, context.px(4), colors.bad);
    draw_text(list, fonts.label, text, colors.text, words);
    context.view.drawn.problem = true;
    context.view.drawn.problem_box = line;
    const std::optional<std::string> readable = text_for_stories(context);
    if (!readable) return;
    ImGui::SetCursorScreenPos({text.x + text_width(fonts.label, words) + context.px(kGapBeforeLink), line.min.y});
    if (link(context.ui(), kReadWithStories, kReadsAnyWord)) read_with_stories(context, *readable);
    ImGui::SetCursorScreenPos(line.min);
}

}  // namespace

std::string eye_sentence(PanelContext& context) {
    if (const std::string_view why = no_next_word(context); !why.empty() && !row_says_no_next_word(context))
        return fmt::format("E{}.", why.substr(1));
    if (std::string of_edit = words_of_edit(context); !of_edit.empty()) return of_edit;
    const std::string_view written = look_at(context.document, context.view.stage);
    if (!written.empty() && is_in_place(context, look_of(context.document))) return std::string(written);
    if (std::string of_new_words = words_of_new_words(context); !of_new_words.empty()) return of_new_words;
    return words_of_row(context);
}

bool says_problem_in_line(PanelContext& context, float width) {
    const ViewState& view = context.view;
    const bool has_line = (view.view == View::Step && !view.paint.on) || view.view == View::Heads || view.view == View::Lines;
    const ImFont* font = context.theme.fonts.label;
    const float beside = text_for_stories(context) ? context.px(kGapBeforeLink) + text_width(font, kReadWithStories) : 0;
    const bool fits = text_width(font, line_of_problem(context)) + context.px(kIndent) + beside <= width;
    return context.view.drawn.problem_in_line =
               has_line && context.ready() && !view.lesson.open() && !context.snapshot.problem.empty() && fits;
}

float draw_look_at(PanelContext& context, ImVec2 at, float width) {
    if (context.view.lesson.open()) return 0;  // lessons have captions instead
    const float height = context.px(kEyeLine);
    const Box line{at, {at.x + width, at.y + height}};
    if (context.view.drawn.problem_in_line) {
        draw_problem_in(context, line);
        return height;
    }
    const bool told = leaves_to_notice(context, {at, {line.max.x, at.y + font_size(context.theme.fonts.label)}});
    const std::string sentence = told ? "" : eye_sentence(context);
    context.view.drawn.eye = !sentence.empty();
    if (sentence.empty()) return height;
    const auto& [colors, fonts, scale] = context.theme;
    const float indent = context.px(kIndent);
    // Smaller letters rather than half a sentence.
    ImFont* const font = text_width(fonts.label, sentence) <= width - indent ? fonts.label : fonts.caption;
    const std::string shown = elide(font, sentence, width - indent);
    if (shown != sentence && !context.picture_alone)
        item_at(context.ui(), "##look_at", at, {width, height - context.px(6)}, {.tooltip = sentence, .keyboard = false});
    context.view.focus.note_read({at, {at.x + indent + text_width(font, shown), at.y + font_size(fonts.label)}});
    ImDrawList& list = *ImGui::GetWindowDrawList();
    draw_icon(list, Icon::Eye, {at.x + context.px(8), at.y + context.px(8)}, context.px(14), colors.accent);
    draw_text(list, font, {at.x + indent, at.y + (font_size(fonts.label) - font_size(font)) / 2}, colors.muted, shown);
    return height;
}

}  // namespace attn::app
