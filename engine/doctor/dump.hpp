#pragma once
/// A file of recorded attention, grouped by attention and name but not yet interpreted.

#include <optional>
#include <string>
#include <vector>

#include "engine/doctor/part.hpp"
#include "engine/doctor/sequence.hpp"
#include "engine/io/array_file.hpp"

namespace attn::doctor {

/// What metadata, or scalars in the file, say about the tensors.
struct Hints {
    std::optional<std::int64_t> num_heads, num_key_heads, d_model, head_size;
    std::optional<bool> causal;
    std::optional<bool> training;   ///< whether dropout is meant to be on
    std::optional<double> dropout;  ///< the intended rate
    std::optional<double> scale;
    std::optional<double> softcap;
    std::optional<double> rotary_base;
    std::optional<std::int64_t> rotary_width;  ///< how many dimensions of a head are rotated
    std::optional<double> rotary_part;         ///< the same as a part of the head
    std::optional<bool> rotary_halves;         ///< pairs are (i, i + R/2); else (2i, 2i + 1)
    bool has_other_parts = false;  ///< a trace of a model whose attention has steps not recomputed here, such as norms of queries
    bool has_bias = false;         ///< a trace of a model with a position bias, which is not among its stages
    bool own_trace = false;        ///< made by this program, which states all that a model does
    double temperature = 1;
    std::vector<std::string> unread;  ///< names of single numbers that say nothing known
};

struct NamedPart {
    const NamedArray* array = nullptr;
    NameMeaning meaning;
    bool holds_mask = false;  ///< scores only: they were overwritten by the masked ones
};

/// Tensors with the same prefix.
struct Group {
    std::string prefix;
    std::vector<NamedPart> parts, masks;
    const NamedArray* sinks = nullptr;
    std::vector<std::string> unknown;  ///< unrecognized names
    std::vector<std::string> outputs;  ///< names of maps that hold the output of the module of this name
    bool complete_mask = false;        ///< the mask accompanies the stages, as attnscope writes it
};

struct Dump {
    Hints hints;
    std::vector<Group> groups;  ///< those with at least one part, by name; numbers in names sort by value
    std::vector<std::string> notes;
};

/// Refers to the file's arrays, which must outlive the result. Throws FileError for impossible metadata, such as a num_heads that is not a
/// number.
Dump sort_dump(const ArrayFile& file);

/// How ambiguous names and shapes are read; the default is the most literal reading.
struct Reading {
    Part ambiguous_scores = Part::Scores;  ///< which stage a tensor is whose name is used for scores at every stage
    bool flip_mask = false;                ///< in a mask of ambiguous meaning, true = may not attend
    bool positions_first = false;          ///< [B,T,H,D] where T equals H
    bool add_floats = false;               ///< masks that may be added are, if they hold floating-point ones and zeros
    bool operator==(const Reading&) const = default;
};

/// The attention described by a group under this reading. Throws FileError naming file, tensor and expected shape.
Attention interpret(const ArrayFile& file, const Group& group, const Hints& hints, const Reading& reading);
/// The readings that make a difference for this group, most literal first.
std::vector<Reading> readings(const ArrayFile& file, const Group& group);

}  // namespace attn::doctor
