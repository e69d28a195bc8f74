#pragma once
/// An edit in progress: the number being typed, or the cell whose menu is open. Finished edits are in the document.

#include <cstdint>
#include <optional>
#include <string>

#include "engine/explain/provenance.hpp"
#include "engine/trace/edit.hpp"

namespace attn::app {

/// How much of a stage an edit changes.
enum class EditPart : std::uint8_t { Number, Row, Head };

struct EditState {
    enum class Ask : std::uint8_t { Nothing, Field, Menu };
    /// What the menu lists to take numbers from: other rows of the text, rows of other texts, other texts.
    enum class Picking : std::uint8_t { Nothing, Row, RowOfText, Text };

    Ask ask = Ask::Nothing;             ///< what to open in this frame
    CellRef cell;                       ///< cell of the field or menu
    float x = 0, above = 0, below = 0;  ///< opens downwards from `below` or, without room there, upwards from `above`
    std::string refusal;                ///< why the cell cannot be edited, "" if it can
    bool explains = false;              ///< the refusal is on screen
    EditKind kind = EditKind::Set;
    EditPart part = EditPart::Number;
    std::string typed, problem;     ///< contents of the field, and what is wrong with them
    std::string offered;            ///< initial contents of the field; confirming them changes nothing
    int opened = 0;                 ///< counts openings; gives each field its own id, so that ImGui selects all its text
    bool types_again = false;       ///< the number was refused, so the field keeps the keyboard
    std::optional<CellRef> by_key;  ///< chosen with Enter or a button: the field opens where this cell is drawn
    bool just_chosen = false;       ///< `by_key`, in this frame
    Picking picking = Picking::Nothing;
    int listed_at = -2;               ///< ImGui's number of the last frame in which the list was in sight
    std::uint32_t lit = 0, next = 0;  ///< number of the edit whose cells are highlighted, from 1; the one for the next frame
};

}  // namespace attn::app
