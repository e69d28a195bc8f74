#pragma once
/// The tokens of a sequence as chips, and the field for editing the sequence.

#include <imgui.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/session/values/snapshot.hpp"
#include "app/widgets/field_text.hpp"
#include "app/widgets/ui.hpp"

namespace attn::app {

struct ChipMarks {
    int query = -1, key = -1;                  ///< selected: outlined in the colours of T and S
    int hovered_query = -1, hovered_key = -1;  ///< hovered elsewhere: outlined faintly
};

struct ChipOptions {
    ChipMarks marks{};
    bool ids = true;             ///< show the id below the text
    float max_chip_width = 132;  ///< in logical pixels; longer tokens are shortened
    bool wrap = false;           ///< wrap into several lines instead of scrolling horizontally
    const char* tooltip = "click: choose as the query · right-click: as the key";
};

struct ChipResult {
    int hovered = -1, clicked = -1, right_clicked = -1;
    bool background_clicked = false;    ///< clicked beside the chips, which starts editing the text
    float width = 0;                    ///< width of the chips in pixels, for placing what follows
    std::size_t before = 0, after = 0;  ///< how many are not seen whole at the ends of a row that scrolls
};

/// A text that may contain incomplete characters, whose bytes are shown in hexadecimal, apart from the characters: "h C3". All spaces are
/// visible.
std::string shown_bytes(std::string_view text);
/// The same for a token: "#73069" if its id has no text, as where a model has more ids than its tokenizer has tokens.
std::string shown_token(std::string_view text, std::int64_t id);
std::string shown_token(const std::vector<std::string>& vocabulary, std::int64_t id);
/// Whether the text contains bytes that are not complete characters.
bool has_part_of_character(std::string_view text);
/// Draws the outline of a token that is not text on its own: dashes (4 on, 3 off) along the four sides, leaving out the corners.
void dashed_rect(const Ui& ui, ImDrawList& list, ImVec2 min, ImVec2 max, Color color);
/// A token's text as shown on its chip: its id if it has none, otherwise as visible_text() does, with the bytes of incomplete characters in
/// hexadecimal, "␣ F0 9F 98".
std::string chip_text(const Token& token);
/// What stands where the id stands: "17", or "new 1" for a word that is new to the model.
std::string id_text(const Token& token);

/// The tokens' texts in readable form: tokens that only together form a character are merged, and bytes that never form one are shown as on
/// chips. Concatenated they give the complete text.
std::vector<std::string> readable_pieces(std::span<const Token> tokens);

/// Draws chips at the cursor within `width` pixels, 38 logical pixels high, or as many lines as needed. A single line that does not fit
/// scrolls, and counts the chips beyond its ends. Chips outside the visible area are not drawn.
ChipResult token_chips(const Ui& ui, const char* id, std::span<const Token> tokens, float width, const ChipOptions& options = {});

/// A list of words that may be meant, which another panel draws below the field.
struct TextEditList {
    bool open = false;     ///< Tab, ↑ and ↓ move in it, and Escape closes it before the field
    bool chosen = false;   ///< one of them is chosen: Enter takes it instead of committing the text
    bool pointed = false;  ///< the mouse is on it: a click there does not end the editing
};

/// Puts `with` in the place of the bytes [from, to) of the field.
struct FieldChange {
    std::size_t from = 0, to = 0;
    std::string with;
};

struct TextEdit {
    bool editing = false;
    bool focus = false;        ///< take the focus in the next frame
    bool place_caret = false;  ///< once the field has the focus: at the end, or at the beginning of a text longer than the field
    bool select_all = false;   ///< with the caret: what is typed first replaces the text
    bool fits = true;          ///< the text is no longer than the field
    std::string text;          ///< the current text
    std::string original;      ///< restored by Escape
    FieldText stand_ins{};
    std::string field;                              ///< the text as stored in ImGui's field
    std::size_t most_bytes = std::size_t{1} << 20;  ///< longer texts are rejected
    std::size_t caret = 0;                          ///< the byte of the field before which it stands
    std::optional<int> returns_to{};                ///< where the caret is placed instead
    float scrolled = 0;                             ///< how far the field is scrolled, in pixels
    TextEditList list{};
    std::optional<FieldChange> change{};  ///< made in the next frame
};

struct TextEditResult {
    bool changed = false;    ///< `text` changed in this frame: recompute
    bool committed = false;  ///< Enter was pressed, or the field lost the focus
    bool too_long = false;   ///< what was pasted or typed was rejected
    bool cancelled = false;  ///< Escape was pressed: `text` is `original` again
    // Keys of the list:
    bool tab = false, takes = false, closes_list = false;
    int moved = 0;  ///< by ↓ and ↑
};

/// Starts editing `text`.
void begin_text_edit(TextEdit& edit, std::string text);
/// Shows the field, `width` pixels wide; to be called while `edit.editing`.
TextEditResult text_edit(const Ui& ui, const char* id, TextEdit& edit, float width, const char* hint = "type a text");

}  // namespace attn::app
