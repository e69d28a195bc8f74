#include "app/panels/views/token_path_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <utility>

#include "app/panels/files/files.hpp"
#include "app/panels/kit/scrolled.hpp"
#include "app/panels/views/token_cells.hpp"
#include "app/panels/views/token_difference.hpp"
#include "app/panels/views/token_piece.hpp"
#include "app/panels/views/token_steps.hpp"
#include "app/session/states/kept_tokenizer.hpp"
#include "app/session/states/opened_model.hpp"
#include "app/session/values/other_tokens.hpp"
#include "app/session/values/token_path.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

using Cell = TokenPath::Cell;

constexpr float kPathLabels = 112, kRule = 26, kUnit = 28, kScrolledUnit = 20, kPathRow = 36, kPieceRow = 48, kNoteRow = 22,
                kOtherMenu = 230, kLeastSteps = 150;

void draw_row_label(const PanelContext& context, ImVec2 at, std::string_view name, std::string_view note, bool picked = false) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float room = context.px(kPathLabels - 8);
    if (picked)
        list.AddRectFilled({at.x - context.px(10), at.y - context.px(1)}, {at.x - context.px(7), at.y + context.px(kPathRow - 7)},
                           colors.accent, context.px(1.5F));
    draw_text(list, fonts.label, at, picked ? colors.accent : colors.text, elide(fonts.label, name, room));
    draw_text(list, fonts.caption, {at.x, at.y + context.px(15)}, colors.faint, elide(fonts.caption, note, room));
}

void choose_word(PanelContext& context, std::size_t word) {
    context.view.token_path.word = word;
    context.view.token_path.step.reset();
}

/// Selects the first piece of a word, so that the right pane is about this word.
void choose_first_piece(PanelContext& context, const TokenPath& path, std::size_t word) {
    const auto first = std::find_if(path.pieces.begin(), path.pieces.end(),
                                    [&](const TokenPath::Piece& piece) { return piece.word == static_cast<std::int32_t>(word); });
    if (first == path.pieces.end()) return;
    TokenPathState& state = context.view.token_path;
    const auto place = static_cast<std::size_t>(first - path.pieces.begin());
    if (state.of_other) state.other_piece = place;
    else context.view.locked.set(Axis::T, static_cast<std::int64_t>(place));
}

/// Bytes are spelled out already.
std::string cell_text(const TokenPath::Row& row, const Cell& cell) { return row.bytes ? cell.text : piece_text(cell.text); }

void draw_stage_row(const PanelContext& context, const PlacedColumns& columns, const TokenPath::Row& row, float y, bool first) {
    const Palette& colors = context.theme.colors;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float high = context.px(kPathRow - 8), gap = std::max(1.F, context.px(1));
    for (const Cell& cell : row.cells) {
        const ImVec2 min{columns.at(cell.first) + gap, y}, max{columns.at(cell.last) - gap, y + high};
        if (max.x < list.GetClipRectMin().x || min.x > list.GetClipRectMax().x) continue;
        if (row.pieces.empty()) list.AddRect(min, max, colors.line, context.px(3));
        const bool part = row.bytes && !cell.same;
        const Color ink = part ? colors.axis_d : first || row.bytes || !cell.same ? colors.text : colors.muted;
        draw_cell_text(context, min, max, cell_text(row, cell), ink, row.bytes);
    }
    for (const Cell& piece : row.pieces)
        list.AddRect({columns.at(piece.first) + gap, y}, {columns.at(piece.last) - gap, y + high}, colors.faint, context.px(6));
}

/// Words can be selected in every stage that frames them, and in the last one.
void draw_words(PanelContext& context, const PlacedColumns& columns, const TokenPath& path, float y, std::size_t chosen) {
    const Palette& colors = context.theme.colors;
    const float high = context.px(kPathRow - 8), gap = std::max(1.F, context.px(1));
    for (std::size_t i = 0; i < path.words.size(); ++i) {
        const TokenPath::Word& word = path.words[i];
        const ImVec2 min{columns.at(word.first) + gap, y}, max{columns.at(word.last) - gap, y + high};
        if (word.steps.empty() || max.x <= min.x || !ImGui::IsRectVisible(min, max)) continue;
        ImGui::PushID(static_cast<int>(i));
        const Item item = item_at(context.ui(), "##word", min, {max.x - min.x, high}, {.tooltip = "See how this word is made of pieces."});
        ImGui::PopID();
        if (item.pressed) {
            choose_word(context, i);
            choose_first_piece(context, path, i);
        }
        draw_focus_ring(context.ui(), item, context.px(6));
        if (i == chosen || item.hovered)
            ImGui::GetWindowDrawList()->AddRect(min, max, i == chosen ? colors.chosen : colors.muted, context.px(6), 0, context.px(2));
    }
}

/// Selects a piece; pieces of the model's own tokenizer are positions and selected as such.
void choose_piece(PanelContext& context, const TokenPath& path, std::size_t piece, bool of_other) {
    TokenPathState& state = context.view.token_path;
    if (!of_other) context.view.locked.set(Axis::T, static_cast<std::int64_t>(piece));
    state.of_other = of_other;
    state.other_piece = of_other ? std::optional(piece) : std::nullopt;
    choose_word(context, static_cast<std::size_t>(path.pieces[piece].word));
}

/// The id below a piece of the other tokenizer, with a mark if the own piece of the same characters has another id.
struct OtherIds {
    const OtherTokens* other = nullptr;  ///< null: the row is the model's own
    const std::vector<Token>* own = nullptr;
    /// The own piece with another id, null if there is none.
    const Token* differs(std::size_t piece) const {
        if (other == nullptr || piece >= other->twins.size() || other->twins[piece] < 0) return nullptr;
        const auto twin = static_cast<std::size_t>(other->twins[piece]);
        return twin < own->size() && (*own)[twin].id != other->tokens[piece].id ? &(*own)[twin] : nullptr;
    }
    std::string tooltip(std::size_t piece) const {
        if (other == nullptr) return "Choose this piece: its row lights up in every stage.";
        const std::string way = "See how this tokenizer makes the piece.";
        const Token* twin = differs(piece);
        return twin == nullptr ? way : fmt::format("{}\nUnderlined: the piece above for the same characters has id {}.", way, twin->id);
    }
};

/// An id, underlined if it is marked.
void draw_id(const PanelContext& context, ImVec2 min, ImVec2 max, std::int32_t id, bool marked) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const std::string shown = elide(fonts.mono_tiny, std::to_string(id), max.x - min.x);
    draw_text_in(list, fonts.mono_tiny, min, max, {0.5F, 0.5F}, colors.faint, shown);
    if (!marked) return;
    const float half = text_width(fonts.mono_tiny, shown) / 2, middle = (min.x + max.x) / 2,
                y = (min.y + max.y + font_size(fonts.mono_tiny)) / 2 + context.px(1);
    list.AddLine({middle - half, y}, {middle + half, y}, colors.faint);
}

void draw_piece_row(PanelContext& context, const PlacedColumns& columns, const TokenPath& path, const std::vector<Token>& tokens, float y,
                    const OtherIds& ids) {
    const bool of_other = ids.other != nullptr;
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float high = context.px(kPieceRow - 6), gap = std::max(1.F, context.px(1));
    ImGui::PushID(of_other ? "other" : "own");
    for (std::size_t i = 0; i < std::min(path.pieces.size(), tokens.size()); ++i) {
        const TokenPath::Piece& piece = path.pieces[i];
        const ImVec2 min{columns.at(piece.first) + gap, y}, max{columns.at(piece.last) - gap, y + high};
        if (piece.word < 0 || max.x <= min.x || !ImGui::IsRectVisible(min, max)) continue;
        ImGui::PushID(static_cast<int>(i));
        const std::string tooltip = ids.tooltip(i);
        const Item item = item_at(context.ui(), "##piece", min, {max.x - min.x, high}, {.tooltip = tooltip});
        ImGui::PopID();
        if (item.pressed) choose_piece(context, path, i, of_other);
        if (item.hovered && !of_other) context.view.hovered.set(Axis::T, static_cast<std::int64_t>(i));
        const bool lit = of_other ? item.hovered || context.view.token_path.other_piece == i
                                  : context.view.selection().on(Axis::T) == static_cast<std::int64_t>(i);
        list.AddRectFilled(min, max, colors.raised, context.px(6));
        list.AddRect(min, max, lit ? colors.axis(Axis::T) : colors.line, context.px(6), 0, lit ? context.px(2) : 1.F);
        draw_focus_ring(context.ui(), item, context.px(6));
        draw_cell_text(context, {min.x + gap, min.y}, {max.x - gap, min.y + high * 0.6F}, chip_text(tokens[i]),
                       tokens[i].unknown ? colors.bad : colors.text, false);
        draw_id(context, {min.x, min.y + high * 0.55F}, max, tokens[i].id, ids.differs(i) != nullptr);
    }
    ImGui::PopID();
}

std::string pieces_words(const TokenPath& path) {
    const std::string pieces = fmt::format("{} pieces", path.pieces.size());
    return path.added_pieces == 0 ? pieces : fmt::format("{}, {} added", pieces, path.added_pieces);
}

std::string own_name(const PanelContext& context) {
    const auto& model = context.snapshot.state->setup->model;
    return model == nullptr ? "own" : visible_text(model->name(), true);
}

/// The paths to draw.
struct ShownPaths {
    const TokenPath& own;
    const std::vector<Token>& tokens;
    const OtherTokens* other = nullptr;  ///< null: none, or not ready yet
    bool of_other = false;
    std::vector<std::size_t> stages{};  ///< indices of the stages shown; in a low window, not all
    /// The path whose stages, words and steps are shown.
    const TokenPath& seen() const { return of_other && other != nullptr ? other->path : own; }
};

void draw_row_labels(const PanelContext& context, const ShownPaths& paths, ImVec2 at) {
    const float row = context.px(kPathRow);
    const TokenPath& path = paths.seen();
    float y = at.y;
    for (const std::size_t stage : paths.stages) {
        const bool picked = context.view.token_path.stage == stage;
        draw_row_label(context, {at.x, y}, path.rows[stage].name, path.rows[stage].note, picked);
        y += row;
    }
    const float pieces = y + context.px(4);
    draw_row_label(context, {at.x, pieces}, paths.other == nullptr ? "pieces" : own_name(context), pieces_words(paths.own));
    if (paths.other != nullptr)
        draw_row_label(context, {at.x, pieces + context.px(kPieceRow)}, visible_text(paths.other->name, true),
                       pieces_words(paths.other->path));
}

/// Widens the columns for the cells of the shown stages.
void widen_for_stages(const PanelContext& context, const ShownPaths& paths, PathColumns& columns) {
    const Fonts& fonts = context.theme.fonts;
    for (const std::size_t stage : paths.stages) {
        const TokenPath::Row& row = paths.seen().rows[stage];
        for (const Cell& cell : row.cells)
            columns.widen(cell.first, cell.last, needed(context, row.bytes ? fonts.mono_tiny : fonts.mono_small, cell_text(row, cell)));
    }
}

/// Widens the columns for pieces and their ids.
void widen_for_pieces(const PanelContext& context, const TokenPath& path, const std::vector<Token>& tokens, PathColumns& columns) {
    const Fonts& fonts = context.theme.fonts;
    for (std::size_t i = 0; i < std::min(path.pieces.size(), tokens.size()); ++i) {
        if (path.pieces[i].word < 0) continue;
        const float text = needed(context, fonts.mono_small, chip_text(tokens[i])),
                    id = needed(context, fonts.mono_tiny, std::to_string(tokens[i].id));
        columns.widen(path.pieces[i].first, path.pieces[i].last, std::max(text, id));
    }
}

/// The columns of both paths; what is in them is measured only when it changes.
const PathColumns& columns_of(PanelContext& context, const ShownPaths& paths, float room) {
    TokenPathState& state = context.view.token_path;
    const TokenPath* const other = paths.other == nullptr ? nullptr : &paths.other->path;
    const TokenPathState::Measured measured{&paths.own, other, paths.of_other, paths.stages, room, context.theme.scale};
    if (state.measured == measured) return state.columns;
    state.measured = measured;
    std::vector<float> units;
    for (std::size_t i = 0; i < paths.own.columns.size(); ++i)
        units.push_back(std::max(paths.own.columns[i].width, other != nullptr && i < other->columns.size() ? other->columns[i].width : 0));
    PathColumns& columns = state.columns;
    for (const float least : {kLeastUnit, kScrolledUnit}) {
        columns = PathColumns(units, room, context.px(least), context.px(kUnit));
        widen_for_stages(context, paths, columns);
        widen_for_pieces(context, paths.own, paths.tokens, columns);
        if (other != nullptr) widen_for_pieces(context, *other, paths.other->tokens, columns);
        columns.settle();
        if (columns.width() <= room + 1) break;  // otherwise they scroll, and can be wider
    }
    return columns;
}

void reveal_word(const PlacedColumns& columns, const TokenPath::Word& word, float left) {
    if (!looks_elsewhere(static_cast<int>(word.first))) return;
    const float begin = columns.at(word.first) - left, end = columns.at(word.last) - left, room = ImGui::GetWindowWidth();
    if (begin < ImGui::GetScrollX() || end - begin > room) ImGui::SetScrollX(begin);
    else if (end > ImGui::GetScrollX() + room) ImGui::SetScrollX(end - room);
}

/// Draws the stages as rows; returns their height. Long texts scroll.
float draw_stages(PanelContext& context, const ShownPaths& paths, std::size_t word, const Box& area) {
    const TokenPath& path = paths.seen();
    const float labels = context.px(kPathLabels), row = context.px(kPathRow), room = area.width() - labels;
    const PathColumns& measured = columns_of(context, paths, room);
    const bool scrolls = measured.width() > room + 1;
    const std::vector<std::size_t>& stages = paths.stages;
    const float rows = static_cast<float>(stages.size()) * row;
    const float high = rows + context.px(kPieceRow) + (paths.other == nullptr ? 0 : context.px(kPieceRow + kNoteRow));
    draw_row_labels(context, paths, area.min);
    ImGui::SetCursorScreenPos({area.min.x + labels, area.min.y});
    const float bar = scrolls ? ImGui::GetStyle().ScrollbarSize + context.px(4) : 0;
    const Scrolled scrolled(
        context.ui(), "##path_stages", {room, high + bar},
        {.flags = scrolls ? ImGuiWindowFlags_HorizontalScrollbar : ImGuiWindowFlags_NoScrollbar, .padded = false, .fades = false});
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const PlacedColumns columns{measured, at.x};
    ImGui::Dummy({measured.width() - 1, high - context.px(4)});
    if (word < path.words.size()) reveal_word(columns, path.words[word], at.x);
    for (std::size_t i = 0; i < stages.size(); ++i) {
        const float y = at.y + static_cast<float>(i) * row;
        draw_stage_row(context, columns, path.rows[stages[i]], y, stages[i] == 0);
        if (path.rows[stages[i]].pieces.empty() && i + 1 < stages.size()) continue;
        ImGui::PushID(static_cast<int>(i));
        draw_words(context, columns, path, y, word);
        ImGui::PopID();
    }
    const float pieces = at.y + rows + context.px(2);
    if (paths.other != nullptr) draw_first_difference(context, columns, *paths.other, pieces, context.px(kPieceRow));
    draw_piece_row(context, columns, paths.own, paths.tokens, pieces, {});
    if (paths.other != nullptr)
        draw_piece_row(context, columns, paths.other->path, paths.other->tokens, pieces + context.px(kPieceRow),
                       {paths.other, &paths.tokens});
    fade_scrolled_edges(context.ui(), {.depth = kFade, .sideways = true});
    if (paths.other != nullptr)
        draw_difference_note(context, columns, *paths.other, pieces + context.px(2 * kPieceRow), ImGui::GetWindowPos().x);
    return high + bar;
}

bool same_text(const TokenPath& a, const TokenPath& b) {
    return std::equal(a.columns.begin(), a.columns.end(), b.columns.begin(), b.columns.end(),
                      [](const auto& one, const auto& other) { return one.text == other.text; });
}

/// The other tokenizer's pieces of the shown text; those of the previous text until the new ones are ready. A problem is shown at the top
/// of `area`, which shrinks accordingly.
const OtherTokens* other_of_text(PanelContext& context, Box& area) {
    const auto& [colors, fonts, scale] = context.theme;
    TokenPathState& state = context.view.token_path;
    if (state.other.empty()) {
        state.last_other = nullptr;
        return nullptr;
    }
    const auto asked = context.ask(facet::OtherTokens{context.view.shown_text(), state.other, state.opening});
    if (asked) state.last_other = asked.value;
    if (!asked.problem.empty()) state.last_other = nullptr;
    if (!asked.problem.empty() || state.last_other == nullptr) {
        const std::string words = asked.problem.empty() ? "The other tokenizer is being read." : visible_text(asked.problem, true);
        ImDrawList& list = *ImGui::GetWindowDrawList();
        area.min.y +=
            draw_text_wrapped(list, fonts.label, area.min, area.width(), asked.problem.empty() ? colors.muted : colors.bad, words) +
            context.px(8);
    }
    if (state.last_other != nullptr && state.last != nullptr && !same_text(state.last_other->path, *state.last)) return nullptr;
    return state.last_other.get();
}

/// The stages that fit into `height` above the steps of a word, with `pieces` below them: all, or in a low window the ends and the picked
/// one, or the text and the picked one.
std::vector<std::size_t> stages_for(const PanelContext& context, const TokenPath& path, float height, float pieces) {
    const std::size_t count = path.rows.size();
    const std::optional<std::size_t> picked = context.view.token_path.stage;
    const auto taken = [&](auto wanted) {
        std::vector<std::size_t> places;
        for (std::size_t i = 0; i < count; ++i)
            if (wanted(i)) places.push_back(i);
        return places;
    };
    const auto fits = [&](const std::vector<std::size_t>& stages) {
        return context.px(kRule + static_cast<float>(stages.size()) * kPathRow + kLeastSteps) + pieces <= height;
    };
    std::vector<std::size_t> stages = taken([](std::size_t) { return true; });
    if (!fits(stages)) stages = taken([&](std::size_t i) { return i == 0 || i + 1 == count || i == picked; });
    if (!fits(stages)) stages = taken([&](std::size_t i) { return i == 0 || i == picked; });
    return stages;
}

/// The steps by the model's own tokenizer; see shown_token_path().
const TokenPath* own_token_path(PanelContext& context) {
    const auto asked = context.ask(facet::TokenPath{context.view.shown_text()});
    TokenPathState& state = context.view.token_path;
    if (asked && asked.value != state.last) {
        if (state.last == nullptr || !same_text(*asked, *state.last)) {
            state.word.reset();
            state.step.reset();
            state.other_piece.reset();
        }
        state.last = asked.value;
    }
    return asked.problem.empty() ? state.last.get() : nullptr;
}

/// Draws a note if tokens were generated after the text; returns its height.
float draw_written_note(const PanelContext& context, const Box& area) {
    const std::int64_t written = written_after_text(context);
    if (written == 0) return 0;
    ImFont* font = context.theme.fonts.label;
    const std::string words =
        written == 1 ? "The last token is not part of the text: it was generated after it."
                     : fmt::format("The last {} tokens are not part of the text: they were generated after it.", format_count(written));
    draw_text(*ImGui::GetWindowDrawList(), font, area.min, context.theme.colors.muted, elide(font, words, area.width()));
    return context.px(kRule);
}

}  // namespace

const TokenPath* shown_token_path(PanelContext& context) {
    const TokenPath* const own = own_token_path(context);
    const TokenPathState& state = context.view.token_path;
    const bool other = own != nullptr && state.of_other && state.last_other != nullptr && same_text(state.last_other->path, *own);
    return other ? &state.last_other->path : own;
}

std::size_t shown_word(const PanelContext& context, const TokenPath& path) {
    const TokenPathState& state = context.view.token_path;
    if (state.word && *state.word < path.words.size()) return *state.word;
    const auto t = state.of_other ? std::nullopt : context.view.locked.on(Axis::T);
    if (t && *t < static_cast<std::int64_t>(path.pieces.size()))
        if (const std::int32_t word = path.pieces[static_cast<std::size_t>(*t)].word; word >= 0) return static_cast<std::size_t>(word);
    return path.longest_word;
}

bool has_token_path(const PanelContext& context) {
    return context.snapshot.state != nullptr && conventions_of(*context.snapshot.state->setup).pieces;
}

void draw_other_tokenizer_menu(PanelContext& context, ImVec2 right_top) {
    const Ui ui = context.ui();
    TokenPathState& state = context.view.token_path;
    const auto name_of = [](const std::string& path) { return visible_text(model_name(path), true); };
    const std::string shown = state.other.empty() ? "second tokenizer: none" : "second: " + name_of(state.other);
    ImGui::SetCursorScreenPos({right_top.x - context.px(kOtherMenu), right_top.y});
    if (begin_menu_button(
            ui, "##other_tokenizer", elide(context.theme.fonts.label, shown, context.px(kOtherMenu - 40)), kOtherMenu,
            {.tooltip =
                 "A second tokenizer to split the same text: a model's, or a tokenizer.json, which can also be dropped on the window."})) {
        if (menu_item(ui, "none", state.other.empty())) {
            state.other.clear();
            state.of_other = false;
            state.other_piece.reset();
        }
        for (const std::string& recent : context.files.recent_models)
            if (menu_item(ui, name_of(recent), recent == state.other, visible_text(recent, true)))
                put_tokenizer_beside(context.view, recent);
        if (menu_item(ui, "Choose a model or tokenizer…", false)) begin_tokenizer(context);
        end_menu_button();
    }
    if (state.other.empty() || state.last_other == nullptr) return;
    const std::string own = own_name(context), other = visible_text(state.last_other->name, true);
    const float most = context.px(120);
    ImFont* font = context.theme.fonts.label;
    const std::array<std::string, 2> cut = {elide(font, own, most), elide(font, other, most)};
    const std::array<std::string_view, 2> names = {cut[0], cut[1]};
    const float pills = segmented_width(ui, names);
    ImGui::SetCursorScreenPos({right_top.x - context.px(kOtherMenu + 12) - pills, right_top.y});
    int whose = state.of_other ? 1 : 0;
    if (segmented(ui, "##whose", names, whose, pills / context.theme.scale + 1,
                  {.tooltip = "Which tokenizer's stages and steps are shown above and below the pieces."})) {
        state.of_other = whose == 1;
        state.other_piece.reset();
        state.word.reset();
        state.step.reset();
    }
}

void draw_token_path(PanelContext& context, const Box& area) {
    const auto& [colors, fonts, scale] = context.theme;
    const TokenPath* const own = own_token_path(context);
    if (own == nullptr) {
        const auto asked = context.ask(facet::TokenPath{context.view.shown_text()});
        const std::string words = asked.problem.empty() ? "The text is being split step by step." : asked.problem;
        draw_text_wrapped(*ImGui::GetWindowDrawList(), fonts.body, area.min, area.width(), colors.muted, words);
        return;
    }
    Box rest = area;
    const OtherTokens* other = other_of_text(context, rest);
    const auto& sequences = context.view.shown_text().source ? context.snapshot.source_tokens : context.snapshot.tokens;
    if (own->words.empty() || sequences.empty()) return;
    const auto batch =
        static_cast<std::size_t>(std::clamp<std::int64_t>(context.view.batch, 0, static_cast<std::int64_t>(sequences.size()) - 1));
    rest.min.y += draw_written_note(context, rest);
    ShownPaths paths{*own, sequences[batch], other, context.view.token_path.of_other};
    const TokenPath& path = paths.seen();
    if (path.words.empty()) return;
    paths.stages = stages_for(context, path, rest.height(), context.px(other == nullptr ? kPieceRow : 2 * kPieceRow + kNoteRow));
    const std::size_t word = shown_word(context, path);
    // The lowest windows have no room for the rule.
    const bool rule = paths.stages.size() == path.rows.size() || paths.stages.back() + 1 == path.rows.size();
    if (rule) draw_text(*ImGui::GetWindowDrawList(), fonts.label, rest.min, colors.muted, elide(fonts.label, path.rule, rest.width()));
    const Box rows{{rest.min.x, rest.min.y + (rule ? context.px(kRule) : 0)}, rest.max};
    const float high = draw_stages(context, paths, word, rows) + context.px(8);
    draw_word(context, path, word, {{rows.min.x, rows.min.y + high}, rows.max});
}

}  // namespace attn::app
