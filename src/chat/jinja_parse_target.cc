// What stands left of `=` and between `for` and `in`: names, tuples of them, namespace attributes.
#include "chat/jinja_parser_impl.h"

namespace deltaserve::jinja {

ast::Target Parser::parse_target(const TupleMode& mode) {
  TupleMode target_mode = mode;
  target_mode.targets_only = true;
  return to_target(*parse_tuple(target_mode));
}

void Parser::refuse_loop_variable(const ast::Target& target) const {
  if (for_depth_ > 0 && target.kind == ast::Target::Kind::kName && target.id == kNameLoop) {
    fail("can't assign to the special loop variable in a for loop");
  }
  for (const ast::Target& item : target.items) {
    refuse_loop_variable(item);
  }
}

ast::Target Parser::to_target(const ast::Expr& expression) {
  ast::Target target;
  switch (expression.kind) {
    case ast::ExprKind::kName:
      target.id = static_cast<const ast::Name&>(expression).id;
      binds_self_ |= target.id == kNameSelf;
      return target;
    case ast::ExprKind::kAttribute: {
      const auto& attribute = static_cast<const ast::Attribute&>(expression);
      if (attribute.object->kind != ast::ExprKind::kName) {
        break;
      }
      target.kind = ast::Target::Kind::kAttribute;
      target.id = static_cast<const ast::Name&>(*attribute.object).id;
      target.attribute = attribute.name;
      return target;
    }
    case ast::ExprKind::kTuple:
      target.kind = ast::Target::Kind::kTuple;
      for (const auto& item : static_cast<const ast::Items&>(expression).items) {
        target.items.push_back(to_target(*item));
      }
      return target;
    default:
      break;
  }
  fail_syntax(expression.line, "can't assign to this expression");
}

}  // namespace deltaserve::jinja
