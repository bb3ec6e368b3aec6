# frozen_string_literal: true

# The types' part of api/generate.rb: RBS of the option accessors and of the errors.
module Generate
  module_function

  def accessors_rbs(options)
    modules = options.map do |scope, list|
      lines = list.reject { |o| o[:by_hand] }.flat_map { |o| accessor_types(o) }
      "    module #{scope.capitalize}Accessors\n#{lines.map { |line| "      #{line}\n" }.join}   " \
      " end\n"
    end
    <<~RBS
      #{notice("options.yml")}
      module Godwit
        module Options
      #{modules.join("\n").chomp}
        end
      end
    RBS
  end

  def accessor_types(option)
    name = option[:name]
    lines = [*documentation(option)]
    if access(option) != :w
      lines << "def #{name}: () -> #{rbs_type(option)}"
      lines << "alias #{name}? #{name}" if option[:type] == :bool
    end
    if access(option) != :r
      type = rbs_type(option, writing: true)
      lines << "def #{name}=: (#{type} value) -> #{type}"
    end
    lines
  end

  # What docs/options.md says of the option, for editors that show the types' comments.
  def documentation(option)
    values = meaning(option, writing: access(option) != :r)
    ["# #{option[:doc]}", "# #{[values, *facts_of(option)].reject(&:empty?).join("; ")}."]
  end

  # As {ruby_type}, and closer where RBS can: names are literals.
  def rbs_type(option, writing: false)
    type =
      case option[:type]
      when :bool
        "bool"
      when :duration
        writing ? "seconds" : duration_type(option, false)
      when :enum
        names_of(option, writing ? "String" : "Integer")
      when :flags
        writing ? "Array[#{names_of(option)}] | #{names_of(option)}" : "Array[#{names_of(option)}]"
      when :text, :bytes, :key
        "String"
      when :prefix
        "Integer | String"
      else
        "Integer"
      end
    return "(#{type})" if type.include?(" | ") && !nil_type?(option, writing)
    return type unless nil_type?(option, writing)
    type.include?(" | ") ? "(#{type})?" : "#{type}?"
  end

  def nil_type?(option, writing)
    nil_allowed?(option, writing) || (option[:type] == :key && !writing)
  end

  # An enum is also set by a String, and a value that the table does not know reads as its number.
  def names_of(option, other = nil)
    [*option[:values].keys.map(&:inspect), *other].join(" | ")
  end

  def errors_rbs(errors)
    classes = errors["classes"].map do |name, facts|
      body = ["include #{facts["include"] || "Error"}"]
      if (attributes = facts["attributes"])
        body.concat(attributes.map { |attribute, of| "attr_reader #{attribute}: #{of["rbs"]}" })
        keywords = attributes.map { |attribute, of| "?#{attribute}: #{of["rbs"]}, " }.join
        body << "def initialize: (?String? message, #{keywords}" \
          "?operation: (String | Symbol)?, ?endpoint: String?, ?errno: Integer?) -> void"
      end
      "  class #{name} < ::#{facts["super"]}\n#{body.map { |line| "    #{line}\n" }.join}  end\n"
    end
    <<~RBS
      #{notice("errors.yml")}
      module Godwit
      #{classes.join("\n").chomp}
      end
    RBS
  end
end
