#pragma once
/// What the person is about to change: the number being typed, the cell whose menu is open. What was changed is in the document.

#include <cstdint>
#include <optional>
#include <string>

#include "engine/explain/provenance.hpp"
#include "engine/trace/edit.hpp"

namespace attn::app {

/// How much of a stage an edit takes hold of.
enum class EditPart : std::uint8_t { Number, Row, Head };

struct EditState {
    enum class Ask : std::uint8_t { Nothing, Field, Menu };

    Ask ask = Ask::Nothing;             ///< what is to open in this frame
    CellRef cell;                       ///< the field or the menu is about it
    float x = 0, above = 0, below = 0;  ///< where it opens: from `below` down or, without room there, from `above` up
    std::string refusal;                ///< why the cell cannot be changed, "" when it can
    EditKind kind = EditKind::Set;
    EditPart part = EditPart::Number;
    std::string typed, problem;       ///< in the field; what is wrong with it
    std::string offered;              ///< what stood in the field when it opened: confirming that changes nothing
    int opened = 0;                   ///< how often; a field of its own each time, so that all of its text is selected
    std::optional<CellRef> by_key;    ///< chosen with Enter: the field opens where the cell is drawn
    bool picking_row = false;         ///< the menu lists the rows that can be taken
    std::uint32_t lit = 0, next = 0;  ///< line of the list whose cells are framed, counted from 1; the one for the next frame
};

}  // namespace attn::app
