#pragma once
/// Edits as a list that a person works on, and how they lie in a trace.

#include <cstddef>
#include <string>
#include <vector>

#include "engine/explain/provenance.hpp"
#include "engine/trace/edit.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// The list with one edit more, at its end, so that it has the last word. It takes the place of one that did the same to the same numbers:
/// a number that is typed twice is one line.
std::vector<Edit> with_edit(std::vector<Edit> edits, const Edit& edit);

/// Why the edit changes nothing in this trace, in plain words; "" when it does.
std::string why_without_effect(const Edit& edit, const Trace<float>& trace);

/// An edit that is switched on and changes nothing.
struct IdleEdit {
    std::size_t place = 0;  ///< in the list
    std::string why;        ///< as why_without_effect() says
};
/// Those of the trace's own settings.
std::vector<IdleEdit> idle_edits(const Trace<float>& trace);

/// True when the edit is switched on and reaches the cell.
bool reaches(const Edit& edit, const Trace<float>& trace, const CellRef& cell);

/// True when a tensor of this shape has the cell.
bool is_inside(const Shape& shape, const CellRef& cell);

/// The cell that stands for what an edit changes: its own, or the first one that it reaches.
CellRef first_cell(const Edit& edit, const Trace<float>& trace);

}  // namespace attn
