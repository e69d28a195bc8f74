#pragma once
/// A snippet under construction: operands and lines of code, in both dialects.

#include <string>
#include <vector>

#include "engine/snippet/snippet.hpp"

namespace attn::snippet {

/// Collects the code of one stage. Lines that are the same in both dialects are given once.
class Script {
public:
    Script(const Trace<float>& trace, const StageId& id, SnippetDialect dialect) : trace_(trace), id_(id), dialect_(dialect) {}

    const Trace<float>& trace() const { return trace_; }
    const Config& config() const { return trace_.config; }
    const StageId& id() const { return id_; }
    /// How the model computes the stage.
    const PlanNode& node() const { return trace_.plan->at(id_); }
    const RecordedStage<float>& stage(const StageId& id) const;
    const RecordedStage<float>& result() const { return stage(id_); }
    /// Size of an axis of the result.
    std::int64_t size(Axis axis) const { return result().value.shape().size_of(axis); }
    std::string result_name() const { return stage_name(id_); }
    bool torch() const { return dialect_ == SnippetDialect::PyTorch; }

    // --- operands; each returns the name of its variable -----------------------------------------------------------
    /// A recorded stage, as a variable with its own name or `name`.
    std::string operand(const StageId& id, const std::string& name = "");
    /// One of the stage's inputs, by default the only one.
    std::string input(std::size_t which = 0) { return operand(node().inputs.at(which)); }
    /// A parameter of the plan, or its first `rows` rows if that is not 0, as stored; transposing is up to the code. Throws Error if the
    /// model has no such parameter.
    std::string parameter(const PlanParameter& used, const std::string& name, std::int64_t rows = 0);
    std::string numbers(const std::string& name, const std::vector<std::int64_t>& shape, const std::vector<float>& values);
    std::string integers(const std::string& name, const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& values);
    /// From zeros and ones.
    std::string booleans(const std::string& name, const std::vector<std::int64_t>& shape, const std::vector<std::uint8_t>& values);

    // --- code ------------------------------------------------------------------------------------------------------
    void line(const std::string& both) { code_ += both + "\n"; }
    void line(const std::string& numpy, const std::string& torch) { line(dialect_ == SnippetDialect::NumPy ? numpy : torch); }
    /// A remark about the numbers, as a comment before the code.
    void remark(const std::string& sentence) { line("# " + sentence); }
    void needs_functional() { functional_ = true; }
    void needs_erf() { erf_ = true; }

    /// The whole program.
    Snippet finish(const SnippetOptions& options, const std::string& heading);

private:
    std::string literal(const NamedArray& array) const;
    std::string loaded(const NamedArray& array) const;
    std::string imports(bool from_file) const;
    std::string check() const;
    std::string add(NamedArray array);

    const Trace<float>& trace_;
    const StageId& id_;
    SnippetDialect dialect_;
    std::vector<NamedArray> operands_;
    std::string code_;
    bool functional_ = false, erf_ = false;
};

// Write the operands and code of the script's stage; one function per operation.

// embedding_code.cpp
void write_tokens(Script& script, const SnippetTexts& texts);
void write_embed(Script& script);
void write_positions(Script& script);
void write_segments(Script& script);
void write_probabilities(Script& script);

// block_code.cpp
void write_add(Script& script);
void write_norm(Script& script);
void write_linear(Script& script);
void write_activate(Script& script);
void write_multiply(Script& script);
void write_cap(Script& script);

// attention_code.cpp
void write_rotate(Script& script);
void write_scores(Script& script);
void write_scale(Script& script);
void write_bias(Script& script);
void write_mask(Script& script);
void write_softmax(Script& script);
void write_dropped(Script& script);
void write_mix(Script& script);
void write_join_heads(Script& script);

/// Lines that apply the trace's edits of this stage to the result; none if it has no edits.
void write_edits(Script& script);

/// Adds dropout's pattern at `site` as operand "keep" and a line that applies it to `value`; at rate 0 only `name = value`.
void write_dropout(Script& script, const std::string& name, const std::string& value, double rate, const StageId& site);

}  // namespace attn::snippet
