#pragma once
/// A file of recorded attention, sorted by attention and name but not yet interpreted.

#include <optional>
#include <string>
#include <vector>

#include "engine/doctor/part.hpp"
#include "engine/doctor/sequence.hpp"
#include "engine/io/array_file.hpp"

namespace attn::doctor {

/// What the file's metadata (or scalars in it) say besides the tensors.
struct Hints {
    std::optional<std::int64_t> num_heads, num_key_heads, d_model, head_size;
    std::optional<bool> causal;
    std::optional<bool> training;   ///< dropout is meant to be on, or off
    std::optional<double> dropout;  ///< the rate that is meant
    std::optional<double> scale;
    std::optional<double> rotary_base;
    bool has_other_parts = false;  ///< a trace of a model whose attention has steps that are not computed here, such as caps
    double temperature = 1;
};

struct NamedPart {
    const NamedArray* array = nullptr;
    NameMeaning meaning;
    bool holds_mask = false;  ///< of scores: they were overwritten by the masked ones
};

/// Tensors that share a prefix.
struct Group {
    std::string prefix;
    std::vector<NamedPart> parts, masks;
    std::vector<std::string> unknown;  ///< names that mean nothing to it
    bool complete_mask = false;        ///< the mask stands beside the stages as attnscope writes it
};

struct Dump {
    Hints hints;
    std::vector<Group> groups;  ///< those with at least one part; in the order of their names, numbers by value
    std::vector<std::string> notes;
};

/// Refers to the file's arrays, which have to outlive the dump. Throws FileError for metadata that cannot be (a num_heads that is no
/// number).
Dump sort_dump(const ArrayFile& file);

/// How what a name or a shape leaves open is read; the default is the most literal reading.
struct Reading {
    Part ambiguous_scores = Part::Scores;  ///< what a tensor is whose name is used for scores at every stage
    bool flip_mask = false;                ///< a mask of ambiguous meaning: true = may not attend
    bool positions_first = false;          ///< [B,T,H,D] where T equals H
    bool operator==(const Reading&) const = default;
};

/// The attention that a group means in this reading. Throws FileError naming file, tensor and the expected shape.
Attention interpret(const ArrayFile& file, const Group& group, const Hints& hints, const Reading& reading);
/// The readings that differ for this group, the most literal first.
std::vector<Reading> readings(const Group& group);

}  // namespace attn::doctor
