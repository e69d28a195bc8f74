#include "app/panels/views/token_path_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <utility>

#include "app/panels/files/files.hpp"
#include "app/panels/views/token_difference.hpp"
#include "app/panels/views/token_piece.hpp"
#include "app/session/facets/other_tokens.hpp"
#include "app/session/facets/token_path.hpp"
#include "app/session/states/opened_model.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

using Cell = TokenPath::Cell;

constexpr float kPathLabels = 112, kUnit = 28, kLeastUnit = 13, kScrolledUnit = 20, kPathRow = 36, kPieceRow = 48, kStepRow = 25,
                kStepUnit = 24, kNoteRow = 22, kOtherMenu = 230, kLeastSteps = 150, kCandidateRow = 21, kStepNumber = 30;
/// The scrollbar of the steps stands so far outside of the picture's area, near the panel's edge.
constexpr float kBarOutside = 12;
/// Less than a row, since all rows but those at the edge are whole.
constexpr float kFade = 12;

/// Draws text in a box, in a smaller font if it is long.
void draw_cell_text(const PanelContext& context, ImVec2 min, ImVec2 max, std::string_view shown, Color ink, bool small) {
    const Fonts& fonts = context.theme.fonts;
    ImFont* font = small ? fonts.mono_small : fonts.mono_body;
    if (text_width(font, shown) > max.x - min.x)
        font = text_width(fonts.mono_small, shown) <= max.x - min.x ? fonts.mono_small : fonts.mono_tiny;
    draw_text_in(*ImGui::GetWindowDrawList(), font, min, max, {0.5F, 0.5F}, ink, elide(font, shown, max.x - min.x));
}

void draw_row_label(const PanelContext& context, ImVec2 at, std::string_view name, std::string_view note) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float room = context.px(kPathLabels - 8);
    draw_text(list, fonts.label, at, colors.text, elide(fonts.label, name, room));
    draw_text(list, fonts.caption, {at.x, at.y + context.px(15)}, colors.faint, elide(fonts.caption, note, room));
}

/// The shown word: the one selected here, otherwise that of the selected token, otherwise the one with the most steps.
std::size_t shown_word(const PanelContext& context, const TokenPath& path) {
    const TokenPathState& state = context.view.token_path;
    if (state.word && *state.word < path.words.size()) return *state.word;
    const auto t = state.of_other ? std::nullopt : context.view.locked.on(Axis::T);
    if (t && *t < static_cast<std::int64_t>(path.pieces.size()))
        if (const std::int32_t word = path.pieces[static_cast<std::size_t>(*t)].word; word >= 0) return static_cast<std::size_t>(word);
    const auto most = std::max_element(path.words.begin(), path.words.end(),
                                       [](const auto& a, const auto& b) { return a.steps.size() < b.steps.size(); });
    return static_cast<std::size_t>(most - path.words.begin());
}

void choose_word(PanelContext& context, std::size_t word) {
    context.view.token_path.word = word;
    context.view.token_path.step.reset();
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
        if (word.steps.empty() || max.x <= min.x) continue;
        ImGui::PushID(static_cast<int>(i));
        const Item item = item_at(context.ui(), "##word", min, {max.x - min.x, high}, {.tooltip = "See how this word is made of pieces."});
        ImGui::PopID();
        if (item.pressed) choose_word(context, i);
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
        if (piece.word < 0 || max.x <= min.x) continue;
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
    const auto added = std::count_if(path.pieces.begin(), path.pieces.end(), [](const auto& piece) { return piece.word < 0; });
    return added == 0 ? fmt::format("{} pieces", path.pieces.size()) : fmt::format("{} pieces, {} added", path.pieces.size(), added);
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
    bool ends_alone = false;  ///< in a low window: only the first and the last stage
    /// The indices of the stages shown.
    std::vector<std::size_t> stages() const {
        std::vector<std::size_t> places;
        for (std::size_t i = 0; i < seen().rows.size(); ++i)
            if (!ends_alone || i == 0 || i + 1 == seen().rows.size()) places.push_back(i);
        return places;
    }
    /// The path whose stages, words and steps are shown.
    const TokenPath& seen() const { return of_other && other != nullptr ? other->path : own; }
};

void draw_row_labels(const PanelContext& context, const ShownPaths& paths, ImVec2 at) {
    const float row = context.px(kPathRow);
    const TokenPath& path = paths.seen();
    float y = at.y;
    for (const std::size_t stage : paths.stages()) {
        draw_row_label(context, {at.x, y}, path.rows[stage].name, path.rows[stage].note);
        y += row;
    }
    const float pieces = y + context.px(4);
    draw_row_label(context, {at.x, pieces}, paths.other == nullptr ? "pieces" : own_name(context), pieces_words(paths.own));
    if (paths.other != nullptr)
        draw_row_label(context, {at.x, pieces + context.px(kPieceRow)}, visible_text(paths.other->name, true),
                       pieces_words(paths.other->path));
}

/// The space that a text in a small box needs.
float needed(const PanelContext& context, const ImFont* font, std::string_view text) { return text_width(font, text) + context.px(8); }

/// Widens the columns for the cells of the shown stages.
void widen_for_stages(const PanelContext& context, const ShownPaths& paths, PathColumns& columns) {
    const Fonts& fonts = context.theme.fonts;
    for (const std::size_t stage : paths.stages()) {
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
    const TokenPathState::Measured measured{&paths.own, other, paths.of_other, paths.ends_alone, room, context.theme.scale};
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

float first_column(const TokenPath::Word& word) { return std::floor(word.first); }

/// The columns of a word in its step rows.
PathColumns columns_of_word(const PanelContext& context, const TokenPath& path, const TokenPath::Word& word, float room) {
    std::vector<float> units;
    const float before = first_column(word);
    for (auto i = static_cast<std::size_t>(before); i < std::min(static_cast<std::size_t>(std::ceil(word.last)), path.columns.size()); ++i)
        units.push_back(path.columns[i].width);
    PathColumns columns(std::move(units), room, context.px(kLeastUnit), context.px(kStepUnit));
    for (const TokenPath::Step& step : word.steps)
        for (const Cell& part : step.parts)
            columns.widen(part.first - before, part.last - before, needed(context, context.theme.fonts.mono_tiny, piece_text(part.text)));
    columns.settle();
    return columns;
}

/// Whether the item of interest in this child window (given as any number) has changed since the last frame and must be scrolled to.
bool looks_elsewhere(int now) {
    int& before = *ImGui::GetStateStorage()->GetIntRef(ImGui::GetID("looked_at"), -1);
    return std::exchange(before, now) != now;
}

void reveal_word(const PlacedColumns& columns, const TokenPath::Word& word, float left) {
    if (!looks_elsewhere(static_cast<int>(word.first))) return;
    const float begin = columns.at(word.first) - left, end = columns.at(word.last) - left, room = ImGui::GetWindowWidth();
    if (begin < ImGui::GetScrollX() || end - begin > room) ImGui::SetScrollX(begin);
    else if (end > ImGui::GetScrollX() + room) ImGui::SetScrollX(end - room);
}

/// Scrolls to a step in `high` pixels, and to the part it made.
void reveal_step(const PlacedColumns& columns, const TokenPath::Word& word, std::size_t shown, float line, float high) {
    if (!looks_elsewhere(static_cast<int>(word.first) * 4096 + static_cast<int>(shown))) return;
    const float top = line * static_cast<float>(shown);
    if (top < ImGui::GetScrollY()) ImGui::SetScrollY(top);
    else if (top + line > ImGui::GetScrollY() + high) ImGui::SetScrollY(top + line - high);
    const TokenPath::Step& step = word.steps[shown];
    if (step.made < 0) return;
    const Cell& made = step.parts[static_cast<std::size_t>(step.made)];
    const float begin = columns.columns.at(made.first - first_column(word)), end = columns.columns.at(made.last - first_column(word));
    const float room = ImGui::GetWindowWidth();
    if (begin < ImGui::GetScrollX() || end > ImGui::GetScrollX() + room * 0.6F) ImGui::SetScrollX(std::max(begin - room * 0.3F, 0.F));
}

/// Draws the stages as rows; returns their height. Long texts scroll.
float draw_stages(PanelContext& context, const ShownPaths& paths, std::size_t word, const Box& area) {
    const TokenPath& path = paths.seen();
    const float labels = context.px(kPathLabels), row = context.px(kPathRow), room = area.width() - labels;
    const PathColumns& measured = columns_of(context, paths, room);
    const bool scrolls = measured.width() > room + 1;
    const std::vector<std::size_t> stages = paths.stages();
    const float rows = static_cast<float>(stages.size()) * row;
    const float high = rows + context.px(kPieceRow) + (paths.other == nullptr ? 0 : context.px(kPieceRow + kNoteRow));
    draw_row_labels(context, paths, area.min);
    ImGui::SetCursorScreenPos({area.min.x + labels, area.min.y});
    ImGui::PushStyleColor(ImGuiCol_ChildBg, IM_COL32(0, 0, 0, 0));
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
    const float bar = scrolls ? ImGui::GetStyle().ScrollbarSize + context.px(4) : 0;
    ImGui::BeginChild("##path_stages", {room, high + bar}, false,
                      ImGuiWindowFlags_NoNav | (scrolls ? ImGuiWindowFlags_HorizontalScrollbar : ImGuiWindowFlags_NoScrollbar));
    ImGui::PopStyleVar();
    ImGui::PopStyleColor();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const PlacedColumns columns{measured, at.x};
    ImGui::Dummy({measured.width() - 1, high - context.px(4)});
    if (word < path.words.size()) reveal_word(columns, path.words[word], at.x);
    for (std::size_t i = 0; i < stages.size(); ++i) {
        const float y = at.y + static_cast<float>(i) * row;
        draw_stage_row(context, columns, path.rows[stages[i]], y, i == 0);
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
    ImGui::EndChild();
    return high + bar;
}

/// The number of a word's first step: 0 if that step does nothing yet.
std::size_t first_number(const TokenPath::Word& word) { return word.steps.front().made < 0 ? 0 : 1; }

std::string step_words(const TokenPath::Word& word, std::size_t index) {
    const std::size_t first = first_number(word), last = word.steps.size() - 1 + first;
    return last == 0 ? "no steps" : fmt::format("step {} of {}", index + first, last);
}

void draw_candidates(const PanelContext& context, const TokenPath& path, const TokenPath::Step& step, ImVec2 at, float width,
                     float bottom) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const std::size_t count = step.candidates.size(),
                      fit = static_cast<std::size_t>(std::max((bottom - at.y - context.px(22)) / context.px(kCandidateRow), 0.F)),
                      shown = std::min(count, fit);
    if (shown == 0) return;
    const std::string title = shown == count ? path.candidates_title : fmt::format("{}, {} of {}", path.candidates_title, shown, count);
    draw_spaced_text(list, fonts.small, at, colors.muted, elide(fonts.small, title, width * 0.9F), context.px(0.5F));
    const float label = std::min(width * 0.36F, context.px(130)), number = context.px(76), line = context.px(kCandidateRow);
    float y = at.y + context.px(22);
    for (std::size_t i = 0; i < shown; ++i) {
        const TokenPath::Candidate& candidate = step.candidates[i];
        const Color ink = candidate.chosen ? colors.chosen_text : colors.muted;
        draw_text_in(list, fonts.mono, {at.x, y}, {at.x + label, y + line}, {1, 0.5F}, ink,
                     elide(fonts.mono, piece_text(candidate.text, candidate.joined_with), label));
        const float left = at.x + label + context.px(10), room = width - label - number - context.px(10);
        list.AddRectFilled({left, y + context.px(5)},
                           {left + std::max(room * static_cast<float>(candidate.size), context.px(2)), y + line - context.px(5)},
                           candidate.chosen ? colors.chosen : colors.line, context.px(2));
        draw_text_in(list, fonts.mono, {left + room, y}, {at.x + width, y + line}, {1, 0.5F}, ink, candidate.number);
        y += line;
    }
}

/// Draws a step: what it did, what it chose from, and buttons to its neighbours.
void draw_step(PanelContext& context, const TokenPath& path, const TokenPath::Word& word, std::size_t index, const Box& area) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const TokenPath::Step& step = word.steps[index];
    std::string title = piece_text(step.what, step.joined_with);
    if (step.made >= 0 && !step.joined_with.empty()) title += " → " + piece_text(step.parts[static_cast<std::size_t>(step.made)].text);
    draw_text(list, fonts.mono_body, area.min, colors.chosen_text, elide(fonts.mono_body, title, area.width()));
    const float y = area.min.y + context.px(30);
    const float high = draw_text_wrapped(list, fonts.label, {area.min.x, y}, area.width(), colors.muted, step.sentence);
    ImGui::SetCursorScreenPos({area.min.x, y + high + context.px(8)});
    TokenPathState& state = context.view.token_path;
    const auto turn = [&](const char* id, Icon icon, bool possible, std::size_t to, std::string_view tooltip) {
        if (button(context.ui(), id,
                   {.width = 32, .icon = icon, .notes = {.tooltip = tooltip, .disabled = possible ? "" : "There are no more steps."}}))
            state.step = to;
        ImGui::SameLine(0, context.px(6));
    };
    turn("##earlier", Icon::Previous, index > 0, index - 1, "Previous step.");
    turn("##later", Icon::Next, index + 1 < word.steps.size(), index + 1, "Next step.");
    const ImVec2 at = ImGui::GetCursorScreenPos();
    draw_text(list, fonts.label, {at.x + context.px(6), at.y + context.px(7)}, colors.muted, step_words(word, index));
    draw_candidates(context, path, step, {area.min.x, y + high + context.px(46)}, area.width(), area.max.y);
}

std::string step_text(const TokenPath::Step& step) { return piece_text(step.what, step.joined_with); }

void draw_step_row(PanelContext& context, const PlacedColumns& columns, const TokenPath::Word& word, std::size_t index, bool chosen,
                   const Box& row, float words_at) {
    const TokenPath::Step& step = word.steps[index];
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    ImGui::PushID(static_cast<int>(index));
    const Item item = item_at(context.ui(), "##step", row.min, {row.width(), row.height()}, {.tooltip = "Show this step."});
    ImGui::PopID();
    if (item.pressed) context.view.token_path.step = index;
    if (chosen || item.hovered) list.AddRectFilled(row.min, row.max, with_alpha(colors.text, chosen ? 0.07F : 0.03F), context.px(4));
    draw_focus_ring(context.ui(), item, context.px(4));
    draw_text_in(list, fonts.mono_small, row.min, {row.min.x + context.px(22), row.max.y}, {1, 0.5F}, colors.faint,
                 std::to_string(index + first_number(word)));
    const float gap = std::max(1.F, context.px(1)), inset = context.px(3), before = first_column(word);
    for (std::size_t i = 0; i < step.parts.size(); ++i) {
        const Cell& part = step.parts[i];
        const ImVec2 min{columns.at(part.first - before) + gap, row.min.y + inset},
            max{columns.at(part.last - before) - gap, row.max.y - inset};
        const bool made = static_cast<std::int32_t>(i) == step.made;
        if (made && chosen) list.AddRectFilled(min, max, colors.chosen, context.px(4));
        else list.AddRect(min, max, made ? colors.accent : colors.line, context.px(4), 0, made ? context.px(1.5F) : 1.F);
        draw_cell_text(context, min, max, piece_text(part.text), made && chosen ? ink_on(colors.chosen) : colors.text, true);
    }
    const Color ink = chosen ? colors.chosen_text : colors.muted;
    const float number = std::max(text_width(fonts.mono_small, step.number), context.px(kStepNumber)) + context.px(14);
    draw_text_in(list, fonts.mono_small, {words_at, row.min.y}, {row.max.x - number, row.max.y}, {0, 0.5F}, ink,
                 elide(fonts.mono_small, step_text(step), row.max.x - number - words_at));
    draw_text_in(list, fonts.mono_small, row.min, {row.max.x - context.px(8), row.max.y}, {1, 0.5F}, ink, step.number);
}

/// The width of what is written beside the steps of a word.
float step_words_width(const PanelContext& context, const TokenPath::Word& word, float most) {
    ImFont* font = context.theme.fonts.mono_small;
    float widest = 0;
    for (const TokenPath::Step& step : word.steps)
        widest = std::max(widest, text_width(font, step_text(step)) + std::max(text_width(font, step.number), context.px(kStepNumber)));
    return std::min(widest + context.px(24), most);
}

/// Draws all steps of a word, one per row; scrolls by whole rows if there are many.
void draw_step_rows(PanelContext& context, const TokenPath& path, const TokenPath::Word& word, std::size_t shown, const Box& area) {
    const float line = context.px(kStepRow), index = context.px(30), room = area.width();
    const float words = step_words_width(context, word, std::min(room * 0.42F, context.px(190)));
    const PathColumns measured = columns_of_word(context, path, word, room - index - context.px(16) - words);
    const float wide = index + measured.at(word.last - first_column(word)) + context.px(16) + words;
    const float bar = wide > room + 1 ? ImGui::GetStyle().ScrollbarSize : 0;
    if (bar == 0)  // otherwise the numbers move
        draw_text_in(*ImGui::GetWindowDrawList(), context.theme.fonts.caption, {area.min.x, area.min.y - context.px(20)},
                     {area.max.x - context.px(8), area.min.y}, {1, 0}, context.theme.colors.faint, path.number_title);
    const float fit = std::max(std::floor((area.height() - bar) / line), 1.F);
    const float high = std::min(fit, static_cast<float>(word.steps.size())) * line + bar;
    ImGui::SetCursorScreenPos(area.min);
    ImGui::PushStyleColor(ImGuiCol_ChildBg, IM_COL32(0, 0, 0, 0));
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
    ImGui::BeginChild("##path_steps", {room + context.px(kBarOutside), high}, false,
                      ImGuiWindowFlags_NoNav | (bar > 0 ? ImGuiWindowFlags_HorizontalScrollbar : ImGuiWindowFlags_None));
    ImGui::PopStyleVar();
    ImGui::PopStyleColor();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    // The word's columns start after the step number.
    const PlacedColumns columns{measured, at.x + index};
    const float words_at = columns.at(word.last - first_column(word)) + context.px(16), right = at.x + std::max(room, wide);
    ImGui::Dummy({right - at.x - 1, line * static_cast<float>(word.steps.size())});
    ImGui::SetCursorScreenPos(at);  // rows return to it, and would otherwise add space below the last
    reveal_step(columns, word, shown, line, high - bar);
    const auto top = static_cast<std::size_t>(std::max((ImGui::GetWindowDrawList()->GetClipRectMin().y - at.y) / line, 0.F));
    for (std::size_t i = top; i < word.steps.size(); ++i) {
        const float y = at.y + static_cast<float>(i) * line;
        if (y > ImGui::GetWindowDrawList()->GetClipRectMax().y) break;
        draw_step_row(context, columns, word, i, i == shown, {{at.x, y}, {right, y + line}}, words_at);
    }
    fade_scrolled_edges(context.ui(), {.depth = kFade, .sideways = true});
    ImGui::EndChild();
}

void draw_word(PanelContext& context, const TokenPath& path, std::size_t index, const Box& area) {
    if (index >= path.words.size()) return;
    const auto& [colors, fonts, scale] = context.theme;
    const TokenPath::Word& word = path.words[index];
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddLine(area.min, {area.max.x, area.min.y}, colors.line);
    const float top = area.min.y + context.px(12);
    if (word.steps.empty()) {
        draw_text(list, fonts.label, {area.min.x, top}, colors.muted, "A special token: it is taken as it is.");
        return;
    }
    const float left = std::clamp(area.width() * 0.42F, context.px(240), context.px(420));
    const std::size_t shown = std::min(context.view.token_path.step.value_or(word.steps.size() - 1), word.steps.size() - 1);
    draw_step(context, path, word, shown, {{area.min.x, top}, {area.min.x + left - context.px(24), area.max.y}});
    draw_text(list, fonts.caption, {area.min.x + left, top}, colors.faint,
              elide(fonts.caption, fmt::format("“{}” step by step", piece_text(word.text)), area.width() - left - context.px(48)));
    draw_step_rows(context, path, word, shown, {{area.min.x + left, top + context.px(20)}, area.max});
}

bool same_text(const TokenPath& a, const TokenPath& b) {
    return std::equal(a.columns.begin(), a.columns.end(), b.columns.begin(), b.columns.end(),
                      [](const auto& one, const auto& other) { return one.text == other.text; });
}

/// The other tokenizer's pieces of the shown text; those of the previous text until the new ones are ready. A problem is written at the top
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

}  // namespace

bool has_token_path(const PanelContext& context) {
    if (context.snapshot.state == nullptr) return false;
    const Setup& setup = *context.snapshot.state->setup;
    return setup.model != nullptr || setup.tokenizer == TokenizerKind::Bpe;
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
    const std::string waiting = asked.problem.empty() ? "The text is being split step by step." : asked.problem;
    if (state.last == nullptr || !asked.problem.empty()) {
        draw_text_wrapped(*ImGui::GetWindowDrawList(), fonts.body, area.min, area.width(), colors.muted, waiting);
        return;
    }
    Box rest = area;
    const OtherTokens* other = other_of_text(context, rest);
    const auto& sequences = context.view.shown_text().source ? context.snapshot.source_tokens : context.snapshot.tokens;
    if (state.last->words.empty() || sequences.empty()) return;
    const auto batch =
        static_cast<std::size_t>(std::clamp<std::int64_t>(context.view.batch, 0, static_cast<std::int64_t>(sequences.size()) - 1));
    ShownPaths paths{*state.last, sequences[batch], other, state.of_other};
    const TokenPath& path = paths.seen();
    const float pieces = other == nullptr ? kPieceRow : 2 * kPieceRow + kNoteRow;
    const float all = context.px(26 + static_cast<float>(path.rows.size()) * kPathRow + pieces + kLeastSteps);
    paths.ends_alone = rest.height() < all;
    if (path.words.empty()) return;
    const std::size_t word = shown_word(context, path);
    draw_text(*ImGui::GetWindowDrawList(), fonts.label, rest.min, colors.muted, elide(fonts.label, path.rule, rest.width()));
    const Box rows{{rest.min.x, rest.min.y + context.px(26)}, rest.max};
    const float high = draw_stages(context, paths, word, rows) + context.px(8);
    draw_word(context, path, word, {{rows.min.x, rows.min.y + high}, rows.max});
}

}  // namespace attn::app
