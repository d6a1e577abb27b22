// SPDX-License-Identifier: MIT
// Ranks documents for queries by a cross-encoder or a sentence encoder, and measures rankings against labels.
#include <iomanip>
#include <lexformer/io/json.hpp>
#include <lexformer/metrics/ranking_metrics.hpp>
#include <lexformer/models/text_encoder.hpp>
#include <map>

#include <lexformer/data/row_writer.hpp>

#include "cli/texts.hpp"
#include "cli/trained_model.hpp"

namespace lx = lexformer;

namespace {

using Rankings = std::vector<std::vector<lx::RankedDocument>>;

/// The relevance of documents for queries by their places.
using Labels = std::vector<std::map<std::size_t, double>>;

/// Reads rows of a query's id, a document's id and a relevance; one below 0 is 0. sample: a document that is not there has a place behind
/// the others.
Labels read_labels(const std::string& file, const std::vector<std::string>& columns, const program::Texts& queries,
                   const program::Texts& documents, lx::TableOptions table, bool sample) {
  table.columns = columns;
  table.header = lx::TableHeader::automatic;
  table.ids = table.judgements = true;
  const auto rows = lx::read_pairs(file, table);
  const auto relevance = lx::number_labels(rows);
  Labels labels(queries.texts.size());
  for (std::size_t i = 0; i < relevance.size(); ++i) {
    const std::string where = lx::cat(file, ": line ", rows.rows[i].line);
    const std::string& id = rows.rows[i].right;
    const std::size_t document = sample && !documents.places.contains(id) ? documents.texts.size() + i : documents.place(id, where);
    labels[queries.place(rows.rows[i].left, where)][document] = std::max(relevance[i], 0.0);
  }
  return labels;
}

lx::RankingReport measure(const Rankings& found, const Labels& labels, std::size_t top) {
  std::vector<lx::RankedQuery> queries;
  for (std::size_t q = 0; q < found.size(); ++q) {
    auto& query = queries.emplace_back();
    for (const auto& d : found[q]) {
      const auto label = labels[q].find(d.index);
      query.ranked.push_back(label == labels[q].end() ? 0 : label->second);
    }
    for (const auto& [document, relevance] : labels[q]) query.relevant.push_back(relevance);
  }
  return lx::ranking_report(queries, top);
}

/// As JSON. Invalid UTF-8, which the lines of a .txt may hold, becomes U+FFFD, as in the tokenizer.
std::string quoted(const std::string& text) { return lx::Json(text).dump(-1, ' ', false, lx::Json::error_handler_t::replace); }

void write(std::ostream& out, lx::TableFormat format, const Rankings& found, const program::Texts& queries,
           const program::Texts& documents) {
  if (format == lx::TableFormat::csv) out << "query_id,rank,document_id,score,document\n";
  out << std::setprecision(9);
  for (std::size_t q = 0; q < found.size(); ++q)
    for (std::size_t i = 0; i < found[q].size(); ++i) {
      const auto& [index, score] = found[q][i];
      const auto &query = queries.ids[q], &id = documents.ids[index], &text = documents.texts[index];
      if (format == lx::TableFormat::csv)
        out << lx::csv_field(query) << ',' << i + 1 << ',' << lx::csv_field(id) << ',' << score << ',' << lx::csv_field(text) << '\n';
      else
        out << "{\"query_id\":" << quoted(query) << ",\"rank\":" << i + 1 << ",\"document_id\":" << quoted(id) << ",\"score\":" << score
            << ",\"document\":" << quoted(text) << "}\n";
    }
}

class Rank final : public program::Command {
 public:
  void visit(program::OptionVisitor& v) override {
    v.input("model", model_, "a .lxf file or a folder").required().shown_as("M.lxf");
    v.text("query", query_, "the text of one query");
    v.input("queries", queries_path_, "queries: .txt with one in each line, or .csv, .tsv, .jsonl");
    v.input("documents", documents_path_, "documents, in the same forms").required();
    v.text("query_column", query_column_, "column of the queries' texts (default: text, else the first)")
        .shown_as("COLUMN")
        .needs("queries");
    v.text("query_id", query_id_, "column of the queries' ids (default: their numbers from 1)").shown_as("COLUMN").needs("queries");
    v.text("column", document_column_, "column of the documents' texts (default: text, else the first)").shown_as("COLUMN");
    v.text("id", document_id_, "column of the documents' ids (default: their numbers from 1)").shown_as("COLUMN");
    program::visit_header(v, table_.header).help = "whether the tables of queries and documents have a header row";
    program::visit_dialect(v, table_);
    v.find("skip_label")->needs("labels");
    v.size("top", top_, 1, "documents of each query");
    v.input("labels", labels_path_,
            "rows of a query's id, a document's id and a relevance, above 0 if the document is relevant: print MRR, NDCG and recall within "
            "--top; also the judgements of BEIR and TREC");
    v.list("label_columns", label_columns_, "their columns in --labels (default: left, right, label, else the first three)")
        .split_at(',')
        .needs("labels");
    v.flag("sample", sample_, "--documents are a sample: documents of --labels that are not among them count as not found").needs("labels");
    v.output("out", out_, "write the ranking to a .csv or .jsonl file (default: .csv to standard output, unless --labels is given)")
        .shown_as("F.csv");
    v.size("batch", batch_, 1, "pairs or texts per batch");
    flags_.visit(v);
    compute_.visit(v, true);
    visit_threads(v);
  }
  int run() override {
    if (query_.empty() == queries_path_.empty()) lx::fail_usage("command line", "give either --query or --queries");
    const auto format = out_.empty() ? lx::TableFormat::csv : program::output_format(out_);
    table_.columns_setting = "column";
    auto query_table = table_;
    query_table.columns_setting = "query_column";
    const auto documents = program::read_texts(documents_path_, document_column_, document_id_, table_);
    const auto queries = queries_path_.empty() ? program::Texts{"--query", {"1"}, {query_}, {{"1", 0}}}
                                               : program::read_texts(queries_path_, query_column_, query_id_, query_table);
    std::optional<Labels> labels;  // read first, so that a bad file is reported early
    if (!labels_path_.empty()) labels = read_labels(labels_path_, label_columns_, queries, documents, table_, sample_);

    const Rankings found = rankings(queries.texts, documents.texts);
    if (!out_.empty() || !labels) {
      program::StringWriter text;
      write(text, format, found, queries, documents);
      if (out_.empty())
        std::cout << text.str();
      else
        lx::write_file_atomic(out_, text.str());
    }
    if (labels) {
      const auto report = measure(found, *labels, top_);
      std::cout << report.queries << " queries with relevant documents";
      if (report.skipped > 0) std::cout << " (" << report.skipped << " have none)";
      std::cout << std::fixed << std::setprecision(2) << ": MRR@" << top_ << " " << 100 * report.mrr << " %, NDCG@" << top_ << " "
                << 100 * report.ndcg << " %, recall@" << top_ << " " << 100 * report.recall << " %\n";
    }
    return 0;
  }

 private:
  Rankings rankings(const std::vector<std::string>& queries, const std::vector<std::string>& documents) const {
    auto file = lx::ModelFile::open(model_);
    if (lx::is_sentence_encoder(file)) {
      const auto similarity = lx::stored_sentence_options(file).similarity;
      const auto model = lx::open_text_encoder(std::move(file), compute_, flags_.extras());
      const auto vectors = model->encode(documents, {.batch_size = batch_});
      lx::require_finite(vectors, documents_path_, "text", 1);
      return lx::nearest_documents(model->encode(queries, {.batch_size = batch_}), vectors, top_, similarity);
    }
    const auto model = lx::open_scorer(std::move(file), compute_, flags_.extras());
    if (model->task().texts != 2)
      lx::fail_usage("--model", model_, " reads single texts and gives no vectors; rank needs a cross-encoder or a sentence encoder");
    Rankings lists;
    for (const auto& text : queries) lists.push_back(lx::rank(*model, text, documents, top_, batch_));
    return lists;
  }

  std::string model_, query_, queries_path_, documents_path_, query_id_, document_id_, query_column_, document_column_, labels_path_, out_;
  std::vector<std::string> label_columns_;
  lx::TableOptions table_;
  bool sample_ = false;
  std::size_t top_ = 10, batch_ = 32;
  program::ModelFlags flags_;
  program::Compute compute_;
};

const program::Registered<Rank> command{
    "rank", program::Group::use, "ranks documents for queries",
    "Ranks documents for one query or many: by the score of each pair with a cross-encoder, by the cosine of their vectors with a sentence "
    "encoder (a model of train_encoder, or a folder of sentence-transformers)."};

}  // namespace
