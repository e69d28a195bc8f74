#pragma once
/// The tokens of one sequence as chips, and the field in which a sequence is edited.

#include <imgui.h>

#include <span>
#include <string>
#include <vector>

#include "app/session/facets/snapshot.hpp"
#include "app/widgets/field_text.hpp"
#include "app/widgets/ui.hpp"

namespace attn::app {

struct ChipMarks {
    int query = -1, key = -1;                  ///< chosen: outlined in the colours of T and S
    int hovered_query = -1, hovered_key = -1;  ///< pointed at elsewhere: outlined faintly
};

struct ChipOptions {
    ChipMarks marks{};
    bool ids = true;             ///< the id below the text
    float max_chip_width = 132;  ///< logical pixels, longer tokens are cut
    bool wrap = false;           ///< into several lines; otherwise they scroll sideways
    bool two_lines = false;      ///< where one does not hold them: two, without ids, that scroll line by line
    const char* tooltip = "click: choose as the query · right-click: as the key";
};

struct ChipResult {
    int hovered = -1, clicked = -1, right_clicked = -1;
    bool background_clicked = false;  ///< pressed beside the chips: time to edit the text
    float width = 0;                  ///< pixels that the chips took, for what is placed after them
};

/// A text that may hold parts of characters, as chips show it: their bytes in hexadecimal. Every space is shown.
std::string shown_bytes(std::string_view text);
/// Whether some of its bytes are no whole characters.
bool has_part_of_character(std::string_view text);
/// The token's text as chips show it: whole characters as visible_text() does, bytes of parts of characters in hexadecimal, "␣F0 9F 98".
std::string chip_text(const Token& token);

/// The texts of tokens for reading: where only several together are a character they are one, and bytes that never become one stand as in
/// chips. Joined, they are all of the tokens' texts.
std::vector<std::string> readable_pieces(std::span<const Token> tokens);

/// Chips at the cursor within `width` pixels; 44 logical pixels high, or as many lines as it takes. What lies outside is not drawn.
ChipResult token_chips(const Ui& ui, const char* id, std::span<const Token> tokens, float width, const ChipOptions& options = {});

struct TextEdit {
    bool editing = false;
    bool focus = false;         ///< asks for the keyboard in the next frame
    bool caret_to_end = false;  ///< the caret goes behind the text once the field has the keyboard
    std::string text;           ///< what is typed so far
    std::string original;       ///< what Escape brings back
    FieldText stand_ins{};
    std::string field;                              ///< the text as the field holds it
    std::size_t most_bytes = std::size_t{1} << 20;  ///< longer texts are refused
};

struct TextEditResult {
    bool changed = false;    ///< `text` differs from the frame before: recompute
    bool committed = false;  ///< Enter, or the field lost the keyboard
    bool too_long = false;   ///< what was pasted, or typed last, was refused
    bool cancelled = false;  ///< Escape: `text` is the original again
};

/// Starts editing with this text; `typed` is a first character that was typed already.
void begin_text_edit(TextEdit& edit, std::string text);
/// The field, `width` pixels wide; call it while `edit.editing`.
TextEditResult text_edit(const Ui& ui, const char* id, TextEdit& edit, float width, const char* hint = "type a text");

}  // namespace attn::app
