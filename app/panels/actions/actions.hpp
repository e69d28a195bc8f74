#pragma once
/// The table of all actions, used for keyboard shortcuts, the sheet of keys and the command palette.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/panels/kit/panel_context.hpp"
#include "app/widgets/imgui_compat.hpp"

namespace attn::app {

/// Where a key works. An open lesson takes precedence over the picture and the training run.
enum class KeyScope : std::uint8_t { Everywhere, Picture, Training, Lesson };

/// A key, or a character independent of the keyboard layout.
struct KeyChord {
    std::optional<Key> key{};
    char typed = 0;   ///< lower case
    char letter = 0;  ///< an upper-case letter, a digit, + or -, pressed together with Ctrl
    bool ctrl = false, shift = false, alt = false;
    bool repeats = false;
    bool none() const { return !key && typed == 0 && letter == 0; }
    /// Such as "Ctrl + Z", "←", "C"; "" for none.
    std::string text() const;
    bool pressed() const;
    bool operator==(const KeyChord&) const = default;
};

/// What an action leads to. Of lines of the palette that fit equally well, the earlier kinds come first.
enum class ActionKind : std::uint8_t { Command, Place, Setting, Example, Lesson, Mistake };

struct Action {
    std::string name;                ///< such as "Causal mask on or off"
    std::string group{};             ///< such as "Masks"
    std::vector<KeyChord> chords{};  ///< alternative keys; the first one is shown
    KeyScope scope = KeyScope::Everywhere;
    std::string sheet{};  ///< its line on the sheet of keys; shared by actions with the same text, "" for those not listed
    std::function<void(PanelContext&)> run{};
    std::function<bool(const PanelContext&)> available{};  ///< empty: always
    std::string detail{};                                  ///< one sentence for the palette
    std::string also{};                                    ///< other names that the palette finds it by, separated by commas
    bool careful = false;                                  ///< discards something: Enter runs it only if its own words were typed in full
    ActionKind kind = ActionKind::Command;
    std::string needs{};  ///< one sentence: what it needs, where it is not available

    bool can_run(const PanelContext& context) const { return !available || available(context); }
    /// Why it cannot run now.
    std::string_view reason() const { return needs.empty() ? std::string_view("Nothing is computed yet.") : std::string_view(needs); }
};

/// An action without a key, available in the palette only.
Action without_key(std::string name, std::string group, std::function<void(PanelContext&)> run,
                   std::function<bool(const PanelContext&)> available = {}, std::string detail = {});

/// Actions with keys, and other fixed ones. To add one, add a line in actions.cpp.
std::span<const Action> actions();
/// All actions, including those that depend on the data: views, stages, heads, examples, lessons, tasks, colours.
std::vector<Action> all_actions(const PanelContext& context);

/// Runs the actions whose keys are pressed, except while text is being typed.
void handle_shortcuts(PanelContext& context);

}  // namespace attn::app
