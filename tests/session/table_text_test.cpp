/// Texts in tables: a spreadsheet that opens one computes nothing.

#include "app/session/document/table_text.hpp"

#include <gtest/gtest.h>

#include "app/session/document/presets.hpp"
#include "app/session/files/tensor_export.hpp"
#include "app/session/session.hpp"
#include "engine/io/input_file.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::app {
namespace {

TEST(TableText, ThatWouldBeAFormulaIsText) {
    EXPECT_EQ(table_text("=1+1"), "'=1+1");
    EXPECT_EQ(table_text("@SUM(A1)"), "'@SUM(A1)");
    EXPECT_EQ(table_text("+x"), "'+x");
    EXPECT_EQ(table_text("-x"), "'-x");
    EXPECT_EQ(table_text("  =x"), "'  =x");
    EXPECT_EQ(table_text("＝x"), "'＝x");
    EXPECT_EQ(table_text("\t=x"), "\\x09=x") << "the tab is visible, so nothing begins with it";
    EXPECT_EQ(table_text("\r=x"), "\\x0D=x");
    for (const char* plain : {"", " ", "a=b", "the", " the", "3 =x", "'", "−"}) EXPECT_EQ(table_text(plain), plain);
    EXPECT_EQ(csv_field("=a,\"b\""), "\"'=a,\"\"b\"\"\"");
    EXPECT_EQ(csv_field("plain"), "plain");
}

/// The fields of a CSV file.
std::vector<std::vector<std::string>> fields_of(const std::filesystem::path& path) {
    const std::string text = read_whole_file(path, {.stop = {}});
    std::vector<std::vector<std::string>> lines{{""}};
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') lines.back().back() += text[++i];
        else if (c == '"') quoted = !quoted;
        else if (!quoted && c == ',') lines.back().emplace_back();
        else if (!quoted && c == '\n') lines.push_back({""});
        else if (c != '\r') lines.back().back() += c;
    }
    lines.pop_back();
    return lines;
}

bool is_number(const std::string& field) {
    char* end = nullptr;
    std::strtod(field.c_str(), &end);
    return !field.empty() && *end == '\0';
}

void expect_no_formulas(const std::filesystem::path& path, std::size_t negatives) {
    std::size_t found = 0, texts = 0;
    for (const auto& line : fields_of(path))
        for (const std::string& field : line) {
            const bool begins = !field.empty() && std::string("=+-@").find(field[0]) != std::string::npos;
            EXPECT_TRUE(!begins || is_number(field)) << field;
            found += begins ? 1 : 0;
            texts += !field.empty() && field[0] == '\'' ? 1 : 0;
        }
    EXPECT_GE(found, negatives) << "numbers stay numbers";
    EXPECT_GT(texts, 0U);
}

TEST(TableText, IsWrittenWithTensorsAndViews) {
    const test::TemporaryFolder folder;
    Document document = open_preset("causal-attention");
    document.texts = {"=cmd @x -y +z a"};
    Session session(document, [] {});
    const auto snapshot = session.wait();
    ASSERT_EQ(snapshot->problem, "");
    for (const Stage stage : {Stage::Scores, Stage::Q}) {
        write_tensor_csv(folder / "tensor.csv", *snapshot, {{stage, 0}, {}, {}, false});
        expect_no_formulas(folder / "tensor.csv", 3);
    }
    NumberTable table;
    table.row_axis = "=axis";
    table.row_texts = {"=a", "@b"};
    table.column_texts = {"+c", "-d"};
    table.columns_by_text = table.rows_by_text = true;
    table.rows = table.columns = 2;
    table.numbers = {-1, 2, -3, 4};
    write_table(folder / "table.csv", table);
    expect_no_formulas(folder / "table.csv", 2);
}

}  // namespace
}  // namespace attn::app
