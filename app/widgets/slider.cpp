#include "app/widgets/slider.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/keyboard_focus.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kLabelHeight = 20, kTrackHeight = 18, kTrackThickness = 4, kKnobRadius = 6.5f, kTypingWidth = 86;

double grid(const SliderOptions& options) { return options.step > 0 ? options.step : (options.max - options.min) / 100; }

double clamp_to(double value, const SliderOptions& options) { return std::clamp(value, options.min, std::max(options.min, options.max)); }

std::string value_text(double value, const SliderOptions& options) {
    if (!options.shown.empty()) return std::string(options.shown);
    std::string text = format_number(value, {.decimals = options.decimals});
    // Zero keeps its decimals, so that the text does not jump while dragging.
    if (value == 0 && options.decimals > 0) text = "0." + std::string(static_cast<std::size_t>(options.decimals), '0');
    return options.unit.empty() ? text : text + " " + std::string(options.unit);
}

/// Parses a number; false if the text is not one.
bool parse(const char* text, double& value) {
    char* end = nullptr;
    const double parsed = std::strtod(text, &end);
    if (end == text || !std::isfinite(parsed)) return false;
    while (*end == ' ') ++end;
    if (*end != '\0') return false;
    value = parsed;
    return true;
}

/// Progress of switching to text input, stored in the window: 0 off, 1 requested, 2 waiting for the focus, 3 active.
enum Typing { kNot = 0, kAsked = 1, kWaiting = 2, kActive = 3 };

/// The text field that replaces the value while typing. True in the frame in which a number is committed.
bool type_value(const Ui& ui, const Item& row, int& typing, double& value, const SliderOptions& options) {
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), "%.9g", value);
    const ImVec2 cursor = ImGui::GetCursorScreenPos();
    ImGui::SetCursorScreenPos(ImVec2(row.max.x - ui.px(kTypingWidth), row.min.y - ui.px(2)));
    ImGui::SetNextItemWidth(ui.px(kTypingWidth));
    push_font(ui.fonts().mono);
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(ui.px(6), ui.px(3)));
    ImGui::PushStyleVar(ImGuiStyleVar_FrameRounding, ui.px(4));
    ImGui::PushStyleColor(ImGuiCol_FrameBg, ui.colors().raised);
    if (typing == kAsked) focus_next_field();
    // Whoever types does not wait for the field, which takes nothing in the frame in which it opens.
    if (typing != kActive && ui.focus != nullptr) ui.focus->keep_typed_number();
    const bool entered =
        ImGui::InputText("##typed", text.data(), text.size(), ImGuiInputTextFlags_AutoSelectAll | ImGuiInputTextFlags_EnterReturnsTrue);
    const bool active = ImGui::IsItemActive(), left = ImGui::IsItemDeactivated();
    const bool cancelled = left && key_pressed(Key::Escape);
    double parsed = value;
    const bool good = parse(text.data(), parsed);
    ImGui::GetWindowDrawList()->AddRect(ImGui::GetItemRectMin(), ImGui::GetItemRectMax(), good ? ui.colors().accent : ui.colors().bad,
                                        ui.px(4), 0, ui.px(1));
    ImGui::PopStyleColor();
    ImGui::PopStyleVar(2);
    ImGui::PopFont();
    ImGui::SetCursorScreenPos(cursor);
    if (typing == kAsked) {
        typing = kWaiting;
    } else if (active) {
        if (typing == kWaiting && ui.focus != nullptr) ui.focus->hand_over_typed_number();  // over the selected number
        typing = kActive;
    } else if (entered || left || typing == kActive) {
        typing = kNot;
    }
    if (!(entered || left) || cancelled || !good) return false;
    value = clamp_to(parsed, options);
    return true;
}

/// Changes the value with the keys pressed; true if one of them applies.
bool step_by_keys(double& value, const SliderOptions& options) {
    const double far = ImGui::GetIO().KeyShift ? 10 : 1;
    double steps = 0;
    if (key_pressed(Key::Left) || key_pressed(Key::Down)) steps -= far;
    if (key_pressed(Key::Right) || key_pressed(Key::Up)) steps += far;
    if (key_pressed(Key::PageDown)) steps -= 10;
    if (key_pressed(Key::PageUp)) steps += 10;
    if (key_pressed(Key::Home)) value = options.min;
    if (key_pressed(Key::End)) value = options.max;
    const bool ends = key_pressed(Key::Home) || key_pressed(Key::End);
    if (steps == 0) return ends;
    if (options.log && options.step <= 0) {
        // Values are rounded, so that a hundredth of the track may lead back to the same one.
        const double before = value, fraction = slider_fraction(value, options);
        for (int n = 1; n <= 100 && value == before; ++n) value = slider_value(fraction + n * steps / 100, options);
    } else {
        value = clamp_to(value + steps * grid(options), options);
    }
    return true;
}

void draw_track(const Ui& ui, const Item& item, double fraction, bool bad) {
    const Palette& c = ui.colors();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float y = std::round((item.min.y + item.max.y) / 2), half = ui.px(kTrackThickness) / 2, radius = ui.px(kKnobRadius);
    const float x = item.min.x + radius + (item.width() - 2 * radius) * static_cast<float>(fraction);
    const Color ink = bad ? c.bad : item.disabled ? c.faint : c.accent;
    list.AddRectFilled(ImVec2(item.min.x, y - half), ImVec2(item.max.x, y + half), c.line, half);
    if (fraction > 0) list.AddRectFilled(ImVec2(item.min.x, y - half), ImVec2(x, y + half), ink, half);
    if (item.hovered || item.held) list.AddCircleFilled(ImVec2(x, y), radius + ui.px(4), with_alpha(ink, 0.18f), 32);
    list.AddCircleFilled(ImVec2(x, y), radius, item.disabled ? c.muted : c.text, 32);
    if (item.focused) list.AddCircle(ImVec2(x, y), radius + ui.px(2.5f), with_alpha(ink, 0.8f), 32, ui.px(1.5f));
}

/// Not where the value is shown as something else.
bool is_on_value(const Ui& ui, const Item& row, double value, const SliderOptions& options) {
    if (!options.shown.empty()) return false;
    const float width = text_width(ui.fonts().mono, value_text(value, options));
    return row.hovered && ImGui::GetIO().MousePos.x >= row.max.x - width - ui.px(6);
}

/// The value at the right of the label, underlined where a click starts typing.
void value_part(const Ui& ui, const Item& row, double value, const SliderOptions& options) {
    const Palette& c = ui.colors();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const Color ink = !options.notes.error.empty() ? c.bad : row.disabled ? c.faint : c.text;
    const std::string text = value_text(value, options);
    draw_text_in(list, ui.fonts().mono, row.min, row.max, ImVec2(1, 0.5f), ink, text);
    if (row.disabled || !is_on_value(ui, row, value, options)) return;
    const float y = row.max.y - ui.px(2);
    list.AddLine(ImVec2(row.max.x - text_width(ui.fonts().mono, text), y), ImVec2(row.max.x, y), ink);
}

Edited slider(const Ui& ui, const char* label, double& value, const SliderOptions& options) {
    if (ui.without_controls) return {};
    const double before = value;
    const float width = ImGui::GetContentRegionAvail().x, radius = ui.px(kKnobRadius);
    Edited edited;
    ImGui::PushID(label);
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
    int& typing = *ImGui::GetStateStorage()->GetIntRef(ImGui::GetID("typing"));

    const ControlNotes quiet{.tooltip = options.notes.tooltip,
                             .disabled = options.notes.disabled,
                             .words = options.notes.words.empty() ? shown_label(label) : options.notes.words};
    // Only the track is reachable with Tab.
    const ControlNotes unreached{.tooltip = quiet.tooltip, .disabled = quiet.disabled, .keyboard = false};
    const Item row = typing == kNot ? begin_item(ui, "row", ImVec2(width, ui.px(kLabelHeight)), unreached) : Item{};
    if (typing == kNot && row.hovered && (ImGui::IsMouseDoubleClicked(0) || (row.pressed && is_on_value(ui, row, value, options))))
        typing = kAsked;
    Item line = row;
    if (typing != kNot && row.max.y == 0) {
        line.min = ImGui::GetCursorScreenPos();
        line.max = ImVec2(line.min.x + width, line.min.y + ui.px(kLabelHeight));
        if (type_value(ui, line, typing, value, options)) edited.finished = true;
        ImGui::Dummy(ImVec2(width, ui.px(kLabelHeight)));
    }
    if (typing == kWaiting) expect_typing();
    draw_text_in(*ImGui::GetWindowDrawList(), ui.fonts().label, line.min, line.max, ImVec2(0, 0.5f),
                 line.disabled ? ui.colors().faint : ui.colors().muted, shown_label(label));

    const Item track = begin_item(ui, "track", ImVec2(width, ui.px(kTrackHeight)), quiet);
    const bool released = ImGui::IsItemDeactivated();
    const ImGuiIO& io = ImGui::GetIO();
    if (track.hovered && (ImGui::IsMouseDoubleClicked(0) || (io.KeyCtrl && ImGui::IsMouseClicked(0)))) {
        typing = kAsked;
    } else if (track.held && typing == kNot && !io.KeyCtrl) {
        value = slider_value((io.MousePos.x - track.min.x - radius) / std::max(1.0f, width - 2 * radius), options);
    } else if (track.focused && typing == kNot && !track.held) {
        capture_keyboard();
        if (step_by_keys(value, options)) edited.finished = true;
        if (ui.focus != nullptr) {
            ui.focus->take_numbers();
            ui.focus->keep_typed_number();
        }
        if (key_pressed(Key::Enter, false) || (ui.focus != nullptr && ui.focus->has_typed_number())) typing = kAsked;
        if (key_pressed(Key::Escape, false)) release_keyboard_focus();
    }
    if (typing == kAsked) expect_typing();
    if (typing == kNot || row.max.y != 0) value_part(ui, line, value, options);
    draw_focus_ring(ui, track, ui.px(4));
    draw_track(ui, track, slider_fraction(value, options), !options.notes.error.empty());
    ImGui::PopStyleVar();
    ImGui::PopID();
    error_line(ui, options.notes);
    edited.changed = value != before;
    edited.finished = (edited.finished && edited.changed) || (released && typing == kNot);
    return edited;
}

}  // namespace

double slider_fraction(double value, const SliderOptions& options) {
    if (!(options.max > options.min)) return 0;
    const double v = clamp_to(value, options);
    if (options.log && options.min > 0) return std::log(v / options.min) / std::log(options.max / options.min);
    return (v - options.min) / (options.max - options.min);
}

double slider_value(double fraction, const SliderOptions& options) {
    const double t = std::clamp(fraction, 0.0, 1.0);
    if (!(options.max > options.min)) return options.min;
    if (t == 0 || t == 1) return t == 0 ? options.min : options.max;
    double value = options.min + t * (options.max - options.min);
    if (options.log && options.min > 0) {
        value = options.min * std::pow(options.max / options.min, t);
        // Round to two significant digits; nobody wants a learning rate of 0.00103276.
        const double unit = std::pow(10.0, std::floor(std::log10(value)) - 1);
        if (options.step <= 0) value = std::round(value / unit) * unit;
    }
    if (options.step > 0) value = options.min + std::round((value - options.min) / options.step) * options.step;
    return clamp_to(value, options);
}

Edited slider_row(const Ui& ui, const char* label, double& value, const SliderOptions& options) {
    return slider(ui, label, value, options);
}

Edited slider_row(const Ui& ui, const char* label, float& value, const SliderOptions& options) {
    double wide = value;
    Edited edited = slider(ui, label, wide, options);
    if (edited.changed) value = static_cast<float>(wide);
    return edited;
}

Edited slider_row(const Ui& ui, const char* label, int& value, const SliderOptions& options) {
    SliderOptions whole = options;
    whole.decimals = 0;
    if (whole.step <= 0) whole.step = 1;
    double wide = value;
    Edited edited = slider(ui, label, wide, whole);
    const int rounded = static_cast<int>(std::lround(wide));
    edited.changed = rounded != value;
    if (edited.changed) value = rounded;
    return edited;
}

}  // namespace attn::app
