# Prints the methods, classes and modules of the Ruby files named on stdin: file, name, line of the name, last line.
require "ripper"

class Definitions < Ripper
  attr_reader :found

  def initialize(*)
    super
    @found = []
  end

  def on_ident(text) = [text, lineno]
  def on_const(text) = [text, lineno]
  def on_kw(text) = [text, lineno]
  def on_op(text) = [text, lineno]
  def on_backtick(text) = [text, lineno]
  def on_const_ref(name) = name
  def on_const_path_ref(_, name) = name
  def on_def(name, *) = note(name)
  def on_defs(_, _, name, *) = note(name)
  def on_class(name, *) = note(name)
  def on_module(name, *) = note(name)

  def note(name)
    @found << [*name, lineno] if name.is_a?(Array)
    nil
  end
end

$stdin.each_line(chomp: true) do |path|
  next unless path.end_with?(".rb")
  definitions = Definitions.new(File.read(path))
  definitions.parse
  next if definitions.error?
  definitions.found.each { |name, line, last| puts [path, name, line, last].join("\t") }
end
