#pragma once
/// Buttons, switches, selectors and the small parts of a pane. All are laid out at ImGui's cursor. Sizes passed in are logical pixels; a
/// width of 0 fits the text, a negative one fills the pane. Sizes returned are pixels.

#include <imgui.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/widgets/ui.hpp"

namespace attn::app {

/// Options common to all controls.
struct ControlNotes {
    std::string_view tooltip{};
    std::string_view error{};      ///< why the value is invalid; shown below in red
    std::string_view disabled{};   ///< why it is unavailable; greys the control out and becomes its tooltip
    bool explains_itself = false;  ///< it draws its own tooltip, or is a menu item
    bool keyboard = true;          ///< reachable with Tab
    std::string_view words{};      ///< what it is found by, if its label does not tell
    std::optional<bool> ticked{};  ///< items of a menu: whether it is the chosen one
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
    Moon,
    Pencil,
    More  ///< three dots
};
/// Draws an icon of height `size` around `center`.
void draw_icon(ImDrawList& list, Icon icon, ImVec2 center, float size, Color color);

enum class ButtonLook { Plain, Accent, Flat };
struct ButtonOptions {
    ButtonLook look = ButtonLook::Plain;
    float width = 0;
    float height = 30;
    Icon icon = Icon::None;  ///< drawn before the label, or alone if the label starts with "##"
    bool active = false;     ///< drawn pressed, as a switch that is on
    ControlNotes notes{};
};
bool button(const Ui& ui, const char* label, const ButtonOptions& options = {});

/// A label with a switch at the right and a caption below. True if it was flipped.
bool toggle_row(const Ui& ui, const char* label, bool& on, std::string_view caption = {}, const ControlNotes& notes = {});

/// A row of pills of which one is selected, wrapped at `width` (0: the pane's). True if the selection changed.
bool segmented(const Ui& ui, const char* id, std::span<const std::string_view> names, int& chosen, float width = 0,
               const ControlNotes& notes = {});
/// Width of the pills on one line, in pixels.
float segmented_width(const Ui& ui, std::span<const std::string_view> names);
/// A label at the left and pills from `column` on. True if the selection changed.
bool segmented_row(const Ui& ui, const char* label, std::span<const std::string_view> names, int& chosen, float column = 76,
                   const ControlNotes& notes = {});

/// A button that shows the selection and opens a list. True if the selection changed.
bool drop_down(const Ui& ui, const char* id, std::span<const std::string_view> names, int& chosen, float width = 0,
               const ControlNotes& notes = {});
/// The same with custom contents: call menu_item() between begin and end; call end only if begin returned true.
bool begin_menu_button(const Ui& ui, const char* id, std::string_view shown, float width = 0, const ControlNotes& notes = {});
void end_menu_button();
/// A short text in the accent colour with a small triangle that opens a menu; end with end_menu_button().
bool begin_menu_link(const Ui& ui, const char* id, std::string_view shown, const ControlNotes& notes = {});
/// A menu item with an optional detail line below and a shortcut at the right; closes the menu unless `keep_open`. True if it was chosen.
bool menu_item(const Ui& ui, std::string_view name, bool checked = false, std::string_view detail = {}, std::string_view shortcut = {},
               bool keep_open = false);

/// A tab of the top bar at the cursor. True if pressed.
bool tab(const Ui& ui, std::string_view name, bool active, float height = 48, std::string_view tooltip = {});
/// Its width in pixels, which does not depend on whether it is active.
float tab_width(const Ui& ui, std::string_view name);
/// A tab with a small triangle that opens a menu; end with end_menu_button().
bool begin_menu_tab(const Ui& ui, const char* id, std::string_view shown, bool active, float height = 48, const ControlNotes& notes = {});
/// A flat button with an icon, or a short text if that is not empty, that opens a menu; end with end_menu_button().
bool begin_menu_icon(const Ui& ui, const char* id, Icon icon, std::string_view text, float width = 32, const ControlNotes& notes = {});

/// A small, spaced, upper-case heading such as "MASKS".
void section_heading(const Ui& ui, std::string_view text);
/// The heading of a collapsible section: triangle, title, and, while it is collapsed, a summary of its settings at the right, or `below`
/// the title. True if pressed.
bool fold_heading(const Ui& ui, const char* title, bool open, std::string_view shown, const ControlNotes& notes = {}, bool below = false);
/// A horizontal line with space above and below.
void separator(const Ui& ui, float height = 15);
/// Vertical space.
void gap(const Ui& ui, float logical);
/// A label at the left and a monospaced value at the right. True if clicked.
bool value_row(const Ui& ui, std::string_view label, std::string_view value, std::string_view tooltip = {});
/// A paragraph at the cursor, wrapped at the pane's width or `width`.
void paragraph(const Ui& ui, ImFont* font, Color color, std::string_view text, float width = 0);
/// One line of text at the cursor.
void text_line(const Ui& ui, ImFont* font, Color color, std::string_view text);
/// A clickable text in the accent colour.
bool link(const Ui& ui, const char* label, std::string_view tooltip = {});
/// Width of a key cap in pixels.
float key_cap_width(const Ui& ui, std::string_view key);
/// Draws a key cap; returns its width.
float draw_key_cap(const Ui& ui, ImDrawList& list, ImVec2 at, std::string_view key);
/// A coloured dot with a text, as in "verified".
/// Without text, a good state is a check mark, so that it differs from other spots.
bool status_badge(const Ui& ui, const char* id, Color spot, std::string_view text, std::string_view detail, std::string_view tooltip = {});
/// A progress bar; `fraction` is 0 to 1.
void progress_bar(const Ui& ui, float fraction, float width = 0);

/// Which edges of a scrolling window fade, and how far, in logical pixels.
struct FadedEdges {
    float depth = 22;       ///< how far an edge fades
    float inset = 0;        ///< of the upper and lower edge from the sides
    bool sideways = false;  ///< the window also scrolls sideways
};
/// Fades what is cut off at the edges of a scrolling window into a pane's background; to be called last in it.
void fade_scrolled_edges(const Ui& ui, const FadedEdges& edges = {});

/// A wrapped tooltip after the last item has been hovered for a moment; none if `text` is empty.
void tooltip_for_last(const Ui& ui, std::string_view text);
/// Seconds until the tooltip of the hovered item is due; infinite if there is none.
double seconds_until_tooltip();
/// Begins a tooltip at the mouse with custom contents; end with end_tooltip(). It is not drawn behind a sheet, nor between a move of the
/// keyboard focus and the next move of the mouse.
void begin_tooltip(const Ui& ui);
/// The same beside the last item, where it hides as little as possible of what can be used.
void begin_tooltip_beside(const Ui& ui);
void end_tooltip();
/// The same for the control that has the keyboard focus, at the next window position.
void begin_tooltip_of_focus(const Ui& ui);
void end_tooltip_of_focus();

}  // namespace attn::app
