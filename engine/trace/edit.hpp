#pragma once
/// What a person changed inside a forward pass: numbers overwritten as they come out of a stage. Everything downstream reads the
/// changed number.

#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/plan/stage.hpp"
#include "engine/tensor/shape.hpp"

namespace attn {

class Mask;

enum class EditKind : std::uint8_t {
    Set,      ///< the numbers become `value`
    Scale,    ///< the numbers times `value`; 0 removes them
    Freeze,   ///< rows become a fixed pattern. Only weights and dropped
    TakeRow,  ///< row `row` gets the numbers of row `from`: one token's query for another's. Not in masked, weights and dropped
};

/// Where a query looks under a frozen pattern. A row whose key may not be attended stays as it was computed.
enum class Pattern : std::uint8_t {
    Uniform,   ///< the same weight on every key that may be attended
    Previous,  ///< 1 on the key before the query; the first position looks at itself
    Self,      ///< 1 on the query's own position
    First,     ///< 1 on the first key
};

/// One change of the stage `at`. Every index left at kAll means all of them: Set with a column of kAll sets whole rows, Scale with
/// nothing but a head scales that head. A masked cell takes no part in attention, so that no edit touches it.
struct Edit {
    static constexpr std::int64_t kAll = -1;
    /// Largest magnitude of `value`: its square still fits a float many times over.
    static constexpr double kMostValue = 1e9;

    EditKind kind = EditKind::Set;
    StageId at;
    std::int64_t sequence = kAll;  ///< in the batch
    std::int64_t head = kAll;      ///< stages without heads ignore it
    std::int64_t row = kAll;       ///< position; TakeRow needs one
    std::int64_t column = kAll;    ///< for Set and Scale
    std::int64_t from = 0;         ///< for TakeRow
    double value = 0;              ///< for Set and Scale
    Pattern pattern = Pattern::Uniform;
    bool on = true;
    bool operator==(const Edit&) const = default;
};

/// More edits than this are refused.
inline constexpr std::size_t kMostEdits = 512;

/// True for the stages that can be edited: not the tokens, which are text, and not the probabilities, from which nothing is computed.
bool is_editable(Stage stage);
/// True when this kind of edit means something for the stage.
bool is_editable(Stage stage, EditKind kind);

/// Throws ConfigError for a value that is not finite or beyond kMostValue.
void require_edit(const Edit& edit);

/// Why the edit changes nothing in a stage of this shape ("position 7 is not there: there are 5"); "" when it does. The mask is null
/// for stages without one. Whether it is switched on is not asked.
std::string why_without_effect(const Edit& edit, const Shape& shape, const Mask* mask);

}  // namespace attn
