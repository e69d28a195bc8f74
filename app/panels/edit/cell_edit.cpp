#include "app/panels/edit/cell_edit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "app/panels/compare/matrix_view.hpp"
#include "app/panels/edit/edit_words.hpp"
#include "app/panels/kit/emit.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/shown_text.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/text_field.hpp"
#include "engine/explain/edit_list.hpp"
#include "engine/plan/head_of.hpp"

namespace attn::app {
namespace {

constexpr const char* kField = "##cell_field";
constexpr const char* kMenu = "##cell_menu";

bool is_masked(const PanelContext& context, const CellRef& cell) {
    const std::optional<CellNumber> number = context.numbers().number(cell);
    return number && number->masked;
}

/// An edit of the cell's number, row or head.
Edit edit_at(const PanelContext& context, const CellRef& cell, EditPart part) {
    Edit edit;
    edit.at = cell.stage;
    const bool split = context.has_stage(cell.stage) && context.structure().shape_of(cell.stage).rank() == 4;
    if (split) edit.head = cell.index[1];
    if (part == EditPart::Head) return edit;
    edit.sequence = cell.index[0];
    edit.row = cell.index[split ? 2 : 1];
    if (part == EditPart::Number) edit.column = cell.index[split ? 3 : 2];
    return edit;
}

/// Parses a typed number, accepting a decimal comma, a plus sign and a typographic minus.
std::optional<double> parse(std::string text) {
    for (std::size_t at = 0; (at = text.find("−")) != std::string::npos;) text.replace(at, std::string_view("−").size(), "-");
    std::erase(text, ' ');
    std::replace(text.begin(), text.end(), ',', '.');
    if (text.starts_with('+')) text.erase(0, 1);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (end != text.data() + text.size()) return std::nullopt;
    if (error == std::errc::result_out_of_range) {  // a number, but beyond those of a double
        const std::size_t exponent = text.find_first_of("eE");
        return exponent != std::string::npos && text.substr(exponent + 1).starts_with('-') ? 0 : HUGE_VAL;
    }
    if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
    return value;
}

void ask_for_field(PanelContext& context, const CellRef& cell, EditKind kind = EditKind::Set, EditPart part = EditPart::Number) {
    EditState& state = context.view.edits;
    state.ask = EditState::Ask::Field;
    state.cell = cell;
    state.kind = kind, state.part = part;
    state.problem.clear();
    if (state.refusal.empty() && part == EditPart::Number && is_masked(context, cell))
        state.refusal = "Masked: this cell takes no part in attention. Allow it in the masks first.";
    const std::optional<CellNumber> number =
        kind == EditKind::Scale || !state.refusal.empty() ? std::nullopt : context.numbers().number(cell);
    state.typed = kind == EditKind::Scale ? "0" : number ? format_exact(number->value, true) : "";
    state.offered.clear();
}

/// Selects the cell, so that the arithmetic shown is that of the number being changed.
void choose(PanelContext& context, const Matrix& matrix, const HeatmapCell& at, const std::optional<CellRef>& cell) {
    context.view.locked.set(matrix.row_axis, at.row);
    context.view.locked.set(matrix.col_axis, at.col);
    if (!cell || !cell->parameter.empty() || !context.has_stage(cell->stage)) return;
    const Shape shape = context.structure().shape_of(cell->stage);
    if (has_heads(shape)) context.view.head = query_head(context.structure().config, shape, cell->index[1], context.view.head);
}

/// `height`: the estimated height of the contents.
bool begin_popup(const PanelContext& context, const char* id, bool opens, float width, float height) {
    const auto& [colors, fonts, scale] = context.theme;
    const EditState& state = context.view.edits;
    if (opens) ImGui::OpenPopup(id);
    const ImVec2 display = ImGui::GetIO().DisplaySize;
    const float margin = context.px(12), needed = context.px(height);
    // A field must not cover its cell; a menu opens at the mouse and moves up if needed.
    const bool upwards = state.above < state.below && display.y - state.below - margin < needed && state.above > display.y - state.below;
    const float top = state.above < state.below ? state.below : std::max(std::min(display.y - margin - needed, state.below), margin);
    const bool leftwards = state.x + context.px(width) > display.x - margin;
    ImGui::SetNextWindowPos({state.x, upwards ? state.above : top}, ImGuiCond_Always, {leftwards ? 1.F : 0.F, upwards ? 1.F : 0.F});
    const float room = upwards ? state.above - margin : display.y - top - margin;
    ImGui::SetNextWindowSizeConstraints({context.px(width), 0}, {context.px(width), std::max(room, context.px(120))});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {context.px(10), context.px(10)});
    ImGui::PushStyleVar(ImGuiStyleVar_PopupRounding, context.px(8));
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, context.px(2)});
    ImGui::PushStyleColor(ImGuiCol_PopupBg, colors.raised);
    ImGui::PushStyleColor(ImGuiCol_Border, colors.line);
    const bool open = ImGui::BeginPopup(id, ImGuiWindowFlags_NoMove);
    ImGui::PopStyleColor(2);
    if (!open) ImGui::PopStyleVar(3);
    return open;
}

void end_popup() {
    ImGui::EndPopup();
    ImGui::PopStyleVar(3);
}

/// A heading that contains a token and therefore is not upper-cased.
void name_heading(const PanelContext& context, const std::string& name) {
    const auto& [colors, fonts, scale] = context.theme;
    text_line(context.ui(), fonts.small, colors.faint, elide(fonts.small, name, ImGui::GetContentRegionAvail().x));
    gap(context.ui(), 2);
}

void draw_heading(const PanelContext& context, const EditWords& words) {
    const auto& [colors, fonts, scale] = context.theme;
    const float width = ImGui::GetContentRegionAvail().x;
    text_line(context.ui(), fonts.label, colors.text, elide(fonts.label, words.what, width));
    text_line(context.ui(), fonts.caption, colors.muted, elide(fonts.caption, words.place, width));
}

/// What the field refers to, such as "row 6 ‘cat’, key 2 ‘the’".
EditWords field_words(const PanelContext& context) {
    const EditState& state = context.view.edits;
    Edit edit = edit_at(context, state.cell, state.part);
    edit.kind = state.kind;
    return {words_of(context, edit).place, target_of(context, edit)};
}

void take_over_typed(PanelContext& context) {
    EditState& state = context.view.edits;
    if (!state.offered.empty() && state.typed == state.offered) return ImGui::CloseCurrentPopup();
    const std::optional<double> value = parse(state.typed);
    if (!value) {
        state.problem = "This is not a number.";
    } else if (std::abs(*value) > Edit::kMostValue) {
        state.problem = "Use a number between −1e9 and 1e9.";
    } else {
        Edit edit = edit_at(context, state.cell, state.part);
        edit.kind = state.kind;
        edit.value = *value;
        emit_edit(context, edit);
        return ImGui::CloseCurrentPopup();
    }
    state.types_again = true;
}

void draw_field(PanelContext& context, bool opens) {
    EditState& state = context.view.edits;
    if (!begin_popup(context, kField, opens, 280, 150)) return;
    const auto& [colors, fonts, scale] = context.theme;
    if (key_pressed(Key::Escape, false)) ImGui::CloseCurrentPopup();
    if (!state.refusal.empty()) {
        paragraph(context.ui(), fonts.label, colors.text, state.refusal);
        state.explains = true;
        return end_popup();
    }
    draw_heading(context, field_words(context));
    gap(context.ui(), 4);
    // A refused number is typed again.
    const bool again = std::exchange(state.types_again, false);
    if (opens || again) {
        ++state.opened;
        focus_next_field();
    }
    ImGui::PushID(state.opened);
    const bool entered =
        text_field(context.ui(), "##number", state.typed, state.kind == EditKind::Scale ? "times" : "number", -1, {.error = state.problem});
    ImGui::PopID();
    if (entered) take_over_typed(context);
    gap(context.ui(), 2);
    paragraph(context.ui(), fonts.caption, colors.faint,
              state.kind == EditKind::Scale ? "Enter multiplies by it; 0 removes. Esc cancels." : "Enter sets it. Esc cancels.");
    end_popup();
}

/// Emits the edit of the chosen menu item.
void apply(PanelContext& context, EditPart part, EditKind kind, double value, Pattern pattern = Pattern::Uniform) {
    Edit edit = edit_at(context, context.view.edits.cell, part);
    edit.kind = kind;
    edit.value = value;
    edit.pattern = pattern;
    emit_edit(context, edit);
}

void draw_number_items(PanelContext& context) {
    EditState& state = context.view.edits;
    const Ui ui = context.ui();
    gap(ui, 6);
    section_heading(ui, "This number");
    if (is_masked(context, state.cell)) {
        paragraph(ui, context.theme.fonts.caption, context.theme.colors.muted, "Masked: it takes no part in attention.");
        return;
    }
    if (menu_item(ui, "set to …", false, "", "Enter")) ask_for_field(context, state.cell);
    if (menu_item(ui, "set to 0")) apply(context, EditPart::Number, EditKind::Set, 0);
}

void draw_pattern_items(PanelContext& context, EditPart part) {
    const StageId& at = context.view.edits.cell.stage;
    if (!is_editable(at.stage, EditKind::Freeze)) return;
    for (const Pattern pattern : {Pattern::Uniform, Pattern::Previous, Pattern::Self, Pattern::First}) {
        const std::string name = pattern == Pattern::Uniform ? "freeze: uniform" : fmt::format("freeze: look at {}", pattern_name(pattern));
        if (menu_item(context.ui(), name)) apply(context, part, EditKind::Freeze, 0, pattern);
    }
}

/// A menu item that lists what can be taken from other texts.
void offer_other_texts(PanelContext& context, EditState::Picking picking) {
    EditState& state = context.view.edits;
    if (context.snapshot.tokens.size() < 2 || !is_editable(state.cell.stage.stage, EditKind::TakeRow)) return;
    if (menu_item(context.ui(), "take it from another text …", false, "", "", true)) state.picking = picking;
}

void draw_row_items(PanelContext& context) {
    EditState& state = context.view.edits;
    const Ui ui = context.ui();
    ImGui::PushID("row");
    gap(ui, 6);
    name_heading(context, target_of(context, edit_at(context, state.cell, EditPart::Row)));
    if (menu_item(ui, "set to …")) ask_for_field(context, state.cell, EditKind::Set, EditPart::Row);
    if (menu_item(ui, "set to 0")) apply(context, EditPart::Row, EditKind::Set, 0);
    if (menu_item(ui, "scale by …")) ask_for_field(context, state.cell, EditKind::Scale, EditPart::Row);
    draw_pattern_items(context, EditPart::Row);
    if (is_editable(state.cell.stage.stage, EditKind::TakeRow) && menu_item(ui, "take another token's row …", false, "", "", true))
        state.picking = EditState::Picking::Row;
    offer_other_texts(context, EditState::Picking::RowOfText);
    ImGui::PopID();
}

void draw_head_items(PanelContext& context) {
    EditState& state = context.view.edits;
    const Ui ui = context.ui();
    const Edit whole = edit_at(context, state.cell, EditPart::Head);
    ImGui::PushID("head");
    gap(ui, 6);
    section_heading(ui, whole.head == Edit::kAll ? "Whole stage" : fmt::format("Head {}", whole.head));
    if (menu_item(ui, "remove")) apply(context, EditPart::Head, EditKind::Scale, 0);
    if (menu_item(ui, "scale by …")) ask_for_field(context, state.cell, EditKind::Scale, EditPart::Head);
    draw_pattern_items(context, EditPart::Head);
    offer_other_texts(context, EditState::Picking::Text);
    ImGui::PopID();
}

/// Menu items that remove the edits affecting this number.
void draw_removal_items(PanelContext& context) {
    const EditState& state = context.view.edits;
    ForwardSettings forward = context.document.forward;
    bool any = false;
    for (std::size_t i = 0; i < forward.edits.size(); ++i) {
        if (!context.numbers().reaches(forward.edits[i], state.cell, context.view.stage)) continue;
        if (!std::exchange(any, true)) {
            gap(context.ui(), 6);
            section_heading(context.ui(), "Changed here");
        }
        ImGui::PushID(static_cast<int>(i));
        const bool chosen = menu_item(context.ui(), "undo this edit", false, words_of(context, forward.edits[i]).what);
        ImGui::PopID();
        if (!chosen) continue;
        forward.edits.erase(forward.edits.begin() + static_cast<std::ptrdiff_t>(i));
        return emit_forward(context, std::move(forward), "");
    }
}

/// The lengths of the texts that a stage belongs to, without padding.
const std::vector<std::int64_t>& lengths_of(const PanelContext& context, const StageId& id) {
    return context.structure().tokens_of(id.stack).lengths;
}

/// Lists all rows of a text but the replaced one as sources to copy from.
void list_rows(PanelContext& context, Edit edit, std::int64_t text) {
    const Matrix map = context.numbers().numbers({.of = context.shown(), .stage = edit.at, .head = context.view.head}).map;
    if (map.empty() || map.in_blocks()) return;
    const std::int64_t length = lengths_of(context, edit.at)[static_cast<std::size_t>(text)];
    const bool own = text == edit.sequence;
    edit.from_sequence = own ? Edit::kAll : text;
    ImGui::PushID(static_cast<int>(text));
    const auto take = [&](std::int64_t row) {
        edit.from = row;
        emit_edit(context, edit);
    };
    if (!own && edit.row < length && menu_item(context.ui(), "the same position")) take(edit.row);
    for (std::int64_t row = 0; row < length; ++row) {
        if (own && row == edit.row) continue;
        Edit source = edit;
        source.sequence = text, source.row = row;
        ImGui::PushID(static_cast<int>(row));
        if (menu_item(context.ui(), target_of(context, source))) take(row);
        ImGui::PopID();
    }
    ImGui::PopID();
}

/// Lists what the row or head can be replaced by.
void draw_picker(PanelContext& context) {
    const EditState& state = context.view.edits;
    const bool of_row = state.picking != EditState::Picking::Text;
    Edit edit = edit_at(context, state.cell, of_row ? EditPart::Row : EditPart::Head);
    edit.kind = EditKind::TakeRow;
    const std::string part = of_row                    ? target_of(context, edit)
                             : edit.head == Edit::kAll ? "the whole stage"
                                                       : fmt::format("head {}", edit.head);
    text_line(context.ui(), context.theme.fonts.label, context.theme.colors.text, "Let " + part + " take the numbers of");
    gap(context.ui(), 6);
    if (state.picking == EditState::Picking::Row) return list_rows(context, edit, edit.sequence);
    const std::int64_t own = edit.sequence = state.cell.index[0];
    const bool of_source = edit.at.stack == Stack::Encoder;
    const auto& texts = of_source ? context.snapshot.state->setup->source_texts : context.snapshot.state->setup->texts;
    const std::vector<std::int64_t>& lengths = lengths_of(context, edit.at);
    for (std::int64_t text = 0; text < std::min(std::ssize(texts), std::ssize(lengths)); ++text) {
        if (text == own) continue;
        if (of_row) {
            name_heading(context, fmt::format("Text {}", text + 1));
            list_rows(context, edit, text);
            continue;
        }
        if (lengths[static_cast<std::size_t>(text)] < lengths[static_cast<std::size_t>(own)]) {
            paragraph(context.ui(), context.theme.fonts.caption, context.theme.colors.muted,
                      fmt::format("Text {} is shorter: take its rows one by one.", text + 1));
            continue;
        }
        edit.from_sequence = text, edit.from = Edit::kAll;
        ImGui::PushID(static_cast<int>(text));
        const std::string words = elide_shown(context.theme.fonts.caption, texts[static_cast<std::size_t>(text)], context.px(230), true);
        if (menu_item(context.ui(), fmt::format("text {}", text + 1), false, words)) emit_edit(context, edit);
        ImGui::PopID();
    }
}

void draw_menu(PanelContext& context, bool opens) {
    EditState& state = context.view.edits;
    if (opens) state.picking = EditState::Picking::Nothing;
    if (!begin_popup(context, kMenu, opens, 270, is_editable(state.cell.stage.stage, EditKind::Freeze) ? 610 : 390)) return;
    if (key_pressed(Key::Escape, false)) ImGui::CloseCurrentPopup();
    if (!state.refusal.empty()) {
        paragraph(context.ui(), context.theme.fonts.label, context.theme.colors.text, state.refusal);
        state.explains = true;
    } else if (state.picking != EditState::Picking::Nothing) {
        draw_picker(context);
    } else {
        text_line(context.ui(), context.theme.fonts.label, context.theme.colors.text, field_words(context).place);
        draw_removal_items(context);
        draw_number_items(context);
        draw_row_items(context);
        draw_head_items(context);
    }
    end_popup();
}

}  // namespace

void emit_edit(PanelContext& context, const Edit& edit) {
    ForwardSettings forward = context.document.forward;
    forward.edits = with_edit(std::move(forward.edits), edit);
    emit_forward(context, std::move(forward), "");
}

void offer_edits(PanelContext& context, const Matrix& matrix, const HeatmapGeometry& geometry, const HeatmapResult& result) {
    EditState& state = context.view.edits;
    const auto open = [&](const HeatmapCell& at, bool menu) {
        const std::optional<CellRef> cell = matrix.cell(at.row, at.col);
        state.refusal = why_not_editable(context, matrix);
        choose(context, matrix, at, cell);
        state.part = EditPart::Number, state.kind = EditKind::Set;
        state.x = geometry.x_of(static_cast<double>(at.col));
        state.above = geometry.y_of(static_cast<double>(at.row)) - context.px(4);
        state.below = geometry.y_of(static_cast<double>(at.row + 1)) + context.px(4);
        if (!menu) {
            ask_for_field(context, cell.value_or(CellRef()));
            state.offered = state.typed;
            return;
        }
        state.ask = EditState::Ask::Menu;
        state.cell = cell.value_or(CellRef());
        state.x = ImGui::GetIO().MousePos.x, state.above = state.below = ImGui::GetIO().MousePos.y;
    };
    if (result.double_clicked) open(*result.double_clicked, false);
    if (result.right_clicked) open(*result.right_clicked, true);
    if (!state.by_key) return;
    const auto at = matrix.place_of(*state.by_key);
    if (!at || !why_not_editable(context, matrix).empty()) return;
    state.by_key.reset();
    open({at->first, at->second}, false);
}

void edit_chosen_cell(PanelContext& context) {
    if (!context.ready()) return;
    context.view.edits.by_key = selected_cell(context.view, context.structure(), context.view.locked);
    context.view.edits.just_chosen = true;
}

void draw_cell_edit(PanelContext& context) {
    EditState& state = context.view.edits;
    // A button may be drawn after the map: the next frame's map opens the field. If there is none by then, the cell is not on screen.
    if (!std::exchange(state.just_chosen, false)) state.by_key.reset();
    state.explains = false;
    state.lit = std::exchange(state.next, 0);
    const EditState::Ask ask = std::exchange(state.ask, EditState::Ask::Nothing);
    if (!context.ready()) return;
    // Close the field if its cell no longer exists in the new text or model.
    const bool there = !state.refusal.empty() ||
                       (context.has_stage(state.cell.stage) && is_inside(context.structure().shape_of(state.cell.stage), state.cell));
    if (!there) return;
    draw_field(context, ask == EditState::Ask::Field);
    draw_menu(context, ask == EditState::Ask::Menu);
}

void draw_edited_corner(const PanelContext& context, const Matrix& matrix, ImVec2 min, ImVec2 max) {
    if (matrix.edited.by == nullptr) return;
    const Palette& colors = context.theme.colors;
    const float size = std::min(context.px(9), (max.x - min.x) / 3), rim = context.px(2);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddTriangleFilled({max.x - size - rim, min.y}, {max.x, min.y}, {max.x, min.y + size + rim}, colors.pane);
    list.AddTriangleFilled({max.x - size, min.y}, {max.x, min.y}, {max.x, min.y + size}, colors.text);
}

}  // namespace attn::app
