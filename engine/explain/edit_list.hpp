#pragma once
/// Lists of edits as the user works on them, and their effect on a trace.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/explain/provenance.hpp"
#include "engine/trace/edit.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// The list with `edit` appended, so that it takes precedence. It replaces an edit that did the same to the same numbers: typing a number
/// twice gives a single entry.
std::vector<Edit> with_edit(std::vector<Edit> edits, const Edit& edit);

/// The list after a text was removed: without the edits of that text and those that take from it, the others renumbered.
std::vector<Edit> without_text(std::vector<Edit> edits, std::int64_t text);

/// Why the edit changes nothing in this trace, in plain words; "" if it does change something.
std::string why_without_effect(const Edit& edit, const Trace<float>& trace);

/// The same for each of the trace's own edits.
std::vector<std::string> edits_in_vain(const Trace<float>& trace);

/// An enabled edit without effect.
struct IdleEdit {
    std::size_t place = 0;  ///< index in the list
    std::string why;        ///< see why_without_effect()
};
/// The idle edits among the trace's own.
std::vector<IdleEdit> idle_edits(const Trace<float>& trace);

/// True if the edit is enabled and affects the cell.
bool reaches(const Edit& edit, const Trace<float>& trace, const CellRef& cell);

/// True if a tensor of this shape has the cell.
bool is_inside(const Shape& shape, const CellRef& cell);

/// The cell to show for an edit: the one it names, or the first it affects.
CellRef first_cell(const Edit& edit, const Trace<float>& trace);

}  // namespace attn
