#pragma once
/// Buttons, switches, choices and the small parts that hold a pane together. All are laid out at ImGui's cursor. Sizes that are passed in
/// are logical pixels; a width of 0 means as wide as the text needs, a negative one as wide as the pane. Sizes returned are pixels.

#include <imgui.h>

#include <cfloat>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/widgets/ui.hpp"

namespace attn::app {

/// What goes with any control besides its value.
struct ControlNotes {
    std::string_view tooltip{};
    std::string_view error{};      ///< why the value cannot work; written below in red
    std::string_view disabled{};   ///< why it cannot be used now; greyed, and shown as the tooltip
    bool explains_itself = false;  ///< it shows a tooltip of its own, or is a line of a menu
    bool keyboard = true;          ///< Tab stops at it
};

enum class Icon {
    None,
    Play,
    Pause,
    Previous,
    Next,
    First,
    Last,
    Reset,
    Up,
    Down,
    Close,
    Check,
    Plus,
    Lock,
    Eye,
    Undo,
    Redo,
    Help,
    Sun,
    Moon
};
/// Draws an icon of this height about a centre.
void draw_icon(ImDrawList& list, Icon icon, ImVec2 center, float size, Color color);

enum class ButtonLook { Plain, Accent, Flat };
struct ButtonOptions {
    ButtonLook look = ButtonLook::Plain;
    float width = 0;
    float height = 30;
    Icon icon = Icon::None;  ///< drawn before the text, or alone where the text starts with "##"
    bool active = false;     ///< drawn pressed in: a switch that is on
    ControlNotes notes{};
};
bool button(const Ui& ui, const char* label, const ButtonOptions& options = {});

/// Label, switch at the right, caption in faint ink below. True when it was flipped.
bool toggle_row(const Ui& ui, const char* label, bool& on, std::string_view caption = {}, const ControlNotes& notes = {});

/// Small pills of which one is chosen; they wrap at `width` (0: the pane's). True when another one was chosen.
bool segmented(const Ui& ui, const char* id, std::span<const std::string_view> names, int& chosen, float width = 0,
               const ControlNotes& notes = {});
/// Width in pixels that the pills take in one line.
float segmented_width(const Ui& ui, std::span<const std::string_view> names);
/// Label at the left, pills from `column` on. True when another one was chosen.
bool segmented_row(const Ui& ui, const char* label, std::span<const std::string_view> names, int& chosen, float column = 76,
                   const ControlNotes& notes = {});

/// A button that shows the choice and opens a list. True when another one was chosen.
bool drop_down(const Ui& ui, const char* id, std::span<const std::string_view> names, int& chosen, float width = 0,
               const ControlNotes& notes = {});
/// The same with contents of your own: call menu_item between begin and end_menu_button, and end only when begin was true.
bool begin_menu_button(const Ui& ui, const char* id, std::string_view shown, float width = 0, const ControlNotes& notes = {});
void end_menu_button();
/// A short text in the accent's colour with a small triangle that opens a menu (end with end_menu_button).
bool begin_menu_link(const Ui& ui, const char* id, std::string_view shown, const ControlNotes& notes = {});
/// One line of a menu, with a sentence below it in faint ink and a key at its right where given; closes the menu
/// unless `keep_open`. True when it was chosen.
bool menu_item(const Ui& ui, std::string_view name, bool checked = false, std::string_view detail = {}, std::string_view shortcut = {},
               bool keep_open = false);

inline constexpr std::size_t kNoTab = static_cast<std::size_t>(-1);
/// The top bar's tabs: underlined where chosen. Those that do not fit into `room` pixels are in a menu behind them, but not `kept`, which
/// everybody should find. True when another one was chosen.
bool tabs(const Ui& ui, const char* id, std::span<const std::string_view> names, int& chosen, float height = 48,
          std::span<const std::string_view> tooltips = {}, float room = FLT_MAX, std::size_t kept = kNoTab);
/// Width in pixels that all tabs take.
float tabs_width(const Ui& ui, std::span<const std::string_view> names);
/// The tabs that stand in the bar: all when they fit into `room`, else the first ones, always the chosen one, and where there is room for
/// it the kept one, with `menu` pixels to spare.
std::vector<std::size_t> tabs_that_fit(std::span<const float> widths, std::size_t chosen, float menu, float room,
                                       std::size_t kept = kNoTab);

/// "MASKS": small, upper case, spaced.
void section_heading(const Ui& ui, std::string_view text);
/// The heading of a part that folds: triangle, title, and at the right end what is set in it, while it is folded. True when pressed.
bool fold_heading(const Ui& ui, const char* title, bool open, std::string_view shown, const ControlNotes& notes = {});
/// A line across the pane with room above and below.
void separator(const Ui& ui, float height = 15);
/// Room below what came before.
void gap(const Ui& ui, float logical);
/// Label at the left, value in mono at the right. True when it was clicked.
bool value_row(const Ui& ui, std::string_view label, std::string_view value, std::string_view tooltip = {});
/// A paragraph at the cursor, wrapped at the pane's width (or `width`).
void paragraph(const Ui& ui, ImFont* font, Color color, std::string_view text, float width = 0);
/// One line of text at the cursor.
void text_line(const Ui& ui, ImFont* font, Color color, std::string_view text);
/// Text in the accent's colour that can be pressed.
bool link(const Ui& ui, const char* label, std::string_view tooltip = {});
/// Width in pixels of a key as on a keyboard, in a line of text.
float key_cap_width(const Ui& ui, std::string_view key);
/// Draws it; returns its width.
float draw_key_cap(const Ui& ui, ImDrawList& list, ImVec2 at, std::string_view key);
/// A round spot with text, as in "verified".
bool status_badge(const Ui& ui, const char* id, Color spot, std::string_view text, std::string_view detail, std::string_view tooltip = {});
/// How far something is, 0 to 1.
void progress_bar(const Ui& ui, float fraction, float width = 0);

/// A wrapped tooltip when the last item has been hovered for a moment; nothing for empty text.
void tooltip_for_last(const Ui& ui, std::string_view text);
/// Seconds until the tooltip of what the mouse rests on is due; infinite where none waits.
double seconds_until_tooltip();
/// Begins a tooltip of your own in the product's look; end with end_tooltip.
void begin_tooltip(const Ui& ui);
void end_tooltip();

}  // namespace attn::app
