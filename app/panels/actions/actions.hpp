#pragma once
/// Everything that can be done, in one table: keys, the sheet of keys and the command palette all read it.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/panels/panel_context.hpp"
#include "app/widgets/imgui_compat.hpp"

namespace attn::app {

/// Where a key works. A lesson takes its keys before the picture or the run does.
enum class KeyScope : std::uint8_t { Everywhere, Picture, Training, Lesson };

/// A key, or a character that a key types, wherever the keyboard's layout puts it.
struct KeyChord {
    std::optional<Key> key{};
    char typed = 0;   ///< lower case
    char letter = 0;  ///< upper case, pressed together with Ctrl
    bool ctrl = false, shift = false;
    bool repeats = false;
    bool none() const { return !key && typed == 0 && letter == 0; }
    /// "Ctrl + Z", "←", "C"; "" for none.
    std::string text() const;
    bool pressed() const;
    bool operator==(const KeyChord&) const = default;
};

struct Action {
    std::string name;              ///< "Causal mask on or off"
    std::string group;             ///< "Masks"
    std::vector<KeyChord> chords;  ///< each does it; the first one is shown
    KeyScope scope = KeyScope::Everywhere;
    std::string sheet;  ///< its line on the sheet of keys; actions with the same line share it, those without one are not there
    std::function<void(PanelContext&)> run;
    std::function<bool(const PanelContext&)> available{};  ///< none: always
    std::string detail{};                                  ///< a sentence for the palette
    std::string also{};                                    ///< further words by which the palette finds it
    bool careful = false;                                  ///< gives something up: found only by the beginnings of its words

    bool can_run(const PanelContext& context) const { return !available || available(context); }
};

/// Found by its name alone.
Action without_key(std::string name, std::string group, std::function<void(PanelContext&)> run,
                   std::function<bool(const PanelContext&)> available = {}, std::string detail = {});

/// Those that have keys, and others that are always the same: a further one is a line in actions.cpp.
std::span<const Action> actions();
/// All of them, with those that depend on what there is: views, stages, heads, examples, lessons, tasks, colours.
std::vector<Action> all_actions(const PanelContext& context);

/// Runs what the pressed keys say, except while text is typed.
void handle_shortcuts(PanelContext& context);

}  // namespace attn::app
