"""More everyday functions and how people ask for them: the tools of coding agents, of homes, shops and offices.

The rows have the form of natural.TABLE. A maker may return a pair: the argument's value and how it is said.
"""

from . import words


def path(g):
    """A file in a source tree."""
    stem = words.word(g) if g.chance(0.8) else f"{words.word(g)}_{words.word(g)}"
    name = f"{stem}.{g.pick('py py js ts md cc h txt json yml toml rs go java sh html css csv log'.split())}"
    return g.pick([name, name, f"src/{name}", f"src/{name}", f"{words.word(g)}/{name}", f"tests/test_{name}", f"/{words.word(g)}/{words.word(g)}/{name}", f"./{name}", g.pick(["README.md", "Makefile", "CMakeLists.txt", "package.json", "Dockerfile", "main.py", "src/main.py", "config.yml", "src/app.ts", "index.html", "setup.py", "notes.txt", "pyproject.toml"])])


def folder(g):
    """A directory."""
    return g.pick(["src", "tests", "docs", "build", ".", "lib", "/tmp", "tools", "/var/log", f"src/{words.word(g)}", words.word(g), f"/{words.word(g)}/{words.word(g)}", f"/home/{words.made_up(g, 2)}"])


def command(g):
    """A shell command."""
    return g.pick(["ls", "ls -la {d}", "git status", "git diff", "git log --oneline -{n}", "pytest", "pytest {f}", "cat {f}", "grep -rn {w} {d}", "npm test", "npm install", "make", "make {w}", "docker ps", "pip install {w}", "python {f}", "cargo test", "curl http://localhost:{n}/{w}", "df -h", "mkdir -p {d}", "rm {f}", "wc -l {f}", "find {d} -name '*.{w}'",
                   "head -{n} {f}", "echo {w}", "uname -a", "whoami", "ps aux", "chmod +x {f}", "tar xf {w}.tar.gz", "ninja -C build", "go build ./...", "date", "pwd", "git checkout {w}", "ssh {w}"]).format(d=folder(g), f=path(g), w=words.word(g), n=g.int(1, 90))


def pattern(g):
    """Something to look for in files."""
    return g.pick(["TODO", "FIXME", words.word(g), f"{words.word(g)}_{words.word(g)}", f"def {words.word(g)}", f"class {words.word(g).capitalize()}", f"import {words.word(g)}", words.word(g).capitalize(), f"{words.word(g)}()", words.code(g), "main", words.words(g, 2, 2)])


def switch(g):
    """A truth value said as on or off."""
    value = g.chance(0.5)
    return value, "on" if value else "off"


def lock(g):
    """A truth value said as lock or unlock."""
    value = g.chance(0.5)
    return value, "lock" if value else "unlock"


def enable(g):
    """A truth value said as enable or disable."""
    value = g.chance(0.5)
    return value, "enable" if value else "disable"


def counted(g):
    """A small number in digits or as a word."""
    value = g.int(2, 12)
    return value, g.pick([str(value), str(value), "zero one two three four five six seven eight nine ten eleven twelve".split()[value]])


def several(maker):
    """A maker of lists: the values and how they are said."""
    def make(g):
        values = list(dict.fromkeys(maker(g) for _ in range(g.int(1, 4))))
        return values, values[0] if len(values) == 1 else g.pick([", ", ", ", " and "]).join(values[:-1]) + g.pick([" and ", " and ", ", ", ", and "]) + values[-1]
    return make


MAKERS = {
    "goods": several(lambda g: g.pick("milk eggs bread butter cheese apples rice tea coffee sugar flour salt soap bananas tomatoes onions yoghurt".split()) if g.chance(0.7) else words.word(g)), "people": several(words.name), "labels": several(words.word), "files": several(path), "places": several(words.city),
    "path": path, "folder": folder, "command": command, "pattern": pattern, "switch": switch, "lock": lock, "enable": enable, "counted": counted,
    "size": lambda g: g.pick(["small", "medium", "large"]), "topping": lambda g: g.pick("mushrooms salami cheese olives tuna ham spinach peppers onions pineapple".split()), "drink": lambda g: g.pick("coffee tea cappuccino espresso latte juice lemonade cocoa".split()), "branch": lambda g: g.pick(["main", "develop", words.word(g), f"feature/{words.word(g)}", f"fix-{words.word(g)}"]),
    "url": lambda g: f"https://{words.made_up(g)}.{g.pick(['com', 'org', 'io'])}" + g.pick(["", "", f"/{words.word(g)}", f"/{words.word(g)}.html"]), "article": lambda g: g.pick([f"{words.random_text(g, 1, 2, 'ABCDEFGHKLMNPRSTXZ')}-{g.int(10, 99999)}", str(g.int(1000, 999999)), words.code(g)]), "message": lambda g: g.pick([words.words(g, 2, 5), words.sentence(g), g.pick(["See you at noon", "I am late", "Happy birthday", "The build is green", "Call me back", "Dinner is ready"])]),
    "sql": lambda g: g.pick(["SELECT * FROM {a}", "SELECT {b} FROM {a} WHERE id = {n}", "DELETE FROM {a} WHERE {b} = {n}", "SELECT count(*) FROM {a}"]).format(a=g.pick(words.NOUNS), b=g.pick(words.NOUNS), n=g.int(1, 999)), "store": lambda g: g.pick(["Nord", "South", "Berlin", "A", "main", words.word(g), words.city(g), words.made_up(g).capitalize()]),
    "priority": lambda g: g.pick(["low", "medium", "high"]), "package": lambda g: g.pick(["numpy", "react", "requests", "flask", "lodash", "serde", words.word(g), words.made_up(g)]), "percent": lambda g: g.int(0, 100), "place": lambda g: g.pick([words.city(g), f"the {g.pick(words.PLACES)}", g.pick(["the airport", "the station", "work", "home"])]), "food": lambda g: g.pick("pasta soup pancakes bread curry salad pizza cake rice lasagna".split()),
    "pod": lambda g: f"{words.word(g)}-{g.int(1, 99)}", "port": lambda g: g.int(80, 9999), "mood": lambda g: g.pick("happy sad calm angry bright dark slow fast".split()), "year": lambda g: g.int(1900, 2026),
}
TYPES = {"goods": "array", "people": "array", "labels": "array", "files": "array", "places": "array", "switch": "boolean", "lock": "boolean", "enable": "boolean", "counted": "integer", "percent": "integer", "port": "integer", "year": "integer"}
ENUMS = {"size": ["small", "medium", "large"], "priority": ["low", "medium", "high"]}
LOOK = "[| and show me what is inside| and show it| and tell me what it says| and summarise it| for me| please|, please]"
# names | description | parameters as name/other name:maker | requests
TABLE = [
    ("read_file Read open_file file_read view_file cat_file", "Read a file from disk", "path/file_path/filename:path", f"[Open|Read|Show|Show me|View|Print|Display|Load] {{0}}{LOOK}[.|]|[Open|Read|Show me] the file {{0}}{LOOK}[.|]|What is [in|inside|written in] {{0}}?|[What does|What's in|Let me see] {{0}}[ contain|][.|?|]|[Have a look at|Take a look at|Look into|Look at|Check] {{0}}[.|]|[I need|Give me|Get] the [content|contents|text] of {{0}}[.|]|cat {{0}}|[Can you|Could you|Please] [open|read|show] {{0}}[?|.]|[First|Now|Next] read {{0}}[.|]"),
    ("write_file Write create_file save_file file_write", "Write text to a file", "path/file_path/filename:path content/text/contents:message", "[Write|Put|Save|Store] \"{1}\" [to|into|in] {0}[.|]|[Create|Make] [a file|the file|] {0} [with the content|with the text|containing|that says] \"{1}\"[.|]|[Save|Write] the text \"{1}\" [as|to|in] {0}[.|]|{0} should [contain|say] \"{1}\"[.|]|In {0}, write \"{1}\"[.|]|[New file|A file] {0} with \"{1}\" in it[.|]|[Please |]overwrite {0} with \"{1}\"[.|]|Write {0}: \"{1}\""),
    ("edit_file Edit str_replace replace_in_file", "Replace text in a file", "path/file_path/file:path old_text/old_string/old/find:pattern new_text/new_string/new/replacement:pattern", "[In|Inside|In the file] {0}[,|] [replace|change|rename|exchange] {1} [with|to|by|into] {2}[.|]|[Replace|Change|Rename|Substitute] {1} [with|to|by] {2} in {0}[.|]|[Edit|Update|Modify] {0}: [{1} becomes {2}|change {1} to {2}|replace {1} by {2}|{1} -> {2}][.|]|{0}: {1} [should be|must become] {2}[.|]|[Please |]turn {1} into {2} in {0}[.|]|[Fix|Correct] {0}, [it says|it has] {1} [but it should say|instead of] {2}[.|]|Every {1} in {0} [should|must] become {2}[.|]|In {0} I want {2} where {1} [is|stands][.|]"),
    ("list_dir LS list_files list_directory ls", "List the files of a folder", "path/directory/dir:folder", "[List|Show|Show me|Print] [the files|all files|everything|what is] in {0}[.|]|[Which|What] files are [in|there in|inside] {0}?|[What is|What's] in [the folder|the directory|] {0}?|ls {0}|[Look|Have a look] [into|inside] {0}[.|]|[Give me|I need] a listing of {0}[.|]|[Can you|Please] list {0}[?|.]|[Contents|Files] of {0}[?|, please.|]"),
    ("grep Grep search_code code_search find_in_files", "Search files for a pattern", "pattern/query/regex:pattern path/directory/dir:folder", "[Search|Look|Grep] for {0} in {1}[.|]|[Find|Find all|Search|Show me|List] [occurrences of |uses of |places with |]{0} [in|inside|under|within] {1}[.|]|Where [is|do we use|do we have] {0} in {1}?|[Search|Scan|Look through|Go through] {1} for {0}[.|]|Does {0} [appear|occur] [anywhere |]in {1}?|[Which|What] files in {1} [contain|mention|use] {0}?|grep {0} {1}|In {1}, [look for|find] {0}[.|]|[Look for|Search] {0} in the {1} [directory|folder][.|]"),
    ("glob find_files Glob", "Find files by name", "pattern/glob:path", "[Find|Locate|Search for] [the file|files named|a file called|files like] {0}[.|]|Where is [the file |]{0}?|[Is there|Do we have] a file {0}?|[Which|What] files match {0}?|glob {0}|[Match|Search] file names against {0}[.|]"),
    ("bash Bash run_command execute terminal exec run_shell shell", "Run a shell command", "command/cmd:command", "[Run|Execute|Please run|Now run|Start|Try|Call|Do] [`{0}`|{0}|\"{0}\"|the command `{0}`|the command {0}][.|]|[Run|Execute] [`{0}`|{0}] [in the shell|in the terminal|for me|and tell me the result|and show the output|again][.|]|[Can you|Could you|Please] [run|execute] [`{0}`|{0}][?|.]|$ {0}|[What does|What is the output of] `{0}` [print|say|give|]?|[I want you to|I need you to|Go and] run [`{0}`|{0}][.|]|[Shell|Command|Terminal|bash]: {0}|[Use bash to|In bash,|On the command line,] [run |execute |]{0}[.|]|`{0}`"),
    ("run_tests test_runner pytest_run", "Run the tests of a file or folder", "path/target:path", "[Run|Start|Execute] [the tests|all tests|tests] [in|of|for|from] {0}[.|]|[Test|Check] {0}[.|]|Do the tests in {0} [pass|work]?|[Are|Is] {0} [green|passing]?"),
    ("git_commit commit create_commit", "Commit the changes", "message/msg:message", "[Commit|Commit this|Commit everything|Make a commit] with [the |][message|text|subject] \"{0}\"[.|]|Commit: \"{0}\"|git commit, message \"{0}\"|[Please |]commit [the changes |my work |]as \"{0}\"[.|]"),
    ("git_checkout checkout_branch switch_branch", "Switch to a branch", "branch/name/ref:branch", "[Switch|Change|Go|Move] to [the branch |branch |]{0}[.|]|[Check out|Checkout] [the branch |branch |]{0}[.|]|[I want|I need] to be on [the branch |]{0}[.|]|git checkout {0}"),
    ("web_fetch fetch_url WebFetch http_get open_page", "Fetch a web page", "url/address/link:url", "[Fetch|Open|Load|Get|Download|Visit|Read] {0}[.|]|[What does|What is on|What's at] {0}[ say|]?|[Have a look at|Go to|Look at] {0}[ and tell me what it says|][.|]|[Get|Read] [the page|the site|the website] {0}[.|]|[Please |]summarise {0}[.|]"),
    ("create_task add_todo todo_add new_task TodoWrite", "Add a task to the list", "title/task/text:message priority/importance:priority", "[Add|Create|Make] a {1} priority [task|todo]: {0}[.|]|[Add|Put] \"{0}\" [to|on] my [list|todo list|tasks] with {1} priority[.|]|New task \"{0}\", priority {1}[.|]|[Task|Todo]: \"{0}\" ({1})"),
    ("create_issue open_issue new_ticket report_bug", "Open an issue", "title/subject:message repo/repository/project:word", "[Open|Create|File] an [issue|bug|ticket] [in|for] {1}: \"{0}\"[.|]|[Report|File] \"{0}\" as a bug in {1}[.|]|In {1}, [open|file] an issue [called|titled] \"{0}\"[.|]|{1} needs an issue titled \"{0}\"[.|]"),
    ("delete_file remove_file rm", "Delete a file", "path/file:path", "[Delete|Remove|Erase] [the file |]{0}[.|]|[Get rid of|Throw away] {0}[.|]|{0} [can go|is not needed any more, delete it|should be deleted][.|]|rm {0}"),
    ("move_file rename_file mv", "Move or rename a file", "source/from/src:path destination/to/dst:path", "[Move|Rename] {0} to {1}[.|]|{0} should be [called|named] {1}[.|]|mv {0} {1}|[Please |]rename the file {0} [to|into] {1}[.|]"),
    ("sql_query run_query query_database execute_sql", "Run an SQL query", "query/sql/statement:sql", "[Run|Execute] [the query |this SQL: |]{0}|[Query|Ask] the database: {0}|[What does|What is the result of] {0}?|SQL: {0}"),
    ("install_package add_dependency pip_install", "Install a package", "name/package:package", "[Install|Add] [the package |the library |]{0}[.|]|[We need|I need|I want to use] [the package |the library |]{0}[, please install it|, install it][.|]|pip install {0} [please|]|{0} is missing, [install it|add it][.|]"),
    ("get_logs read_logs pod_logs", "Get the log of a service", "service/pod/name:pod lines/tail/limit:int", "[Show|Get|Give] me the last {1} [lines|log lines] of {0}[.|]|[Last|The last] {1} lines of the log of {0}[.|]|Logs of {0}, {1} lines[.|]|[What did|What does] {0} log[ lately|]? {1} lines[ please|][.|]"),
    ("restart_service service_restart restart_pod", "Restart a service", "service/name:pod", "[Restart|Reboot|Bounce] [the service |the pod |]{0}[.|]|{0} [hangs|is stuck|does not answer], restart it[.|]|[Turn it off and on again|Restart, please]: {0}"),
    ("check_port port_open", "Check whether a port is open", "host/server:word port/number:port", "Is port {1} [open|free|reachable] on {0}?|[Check|Test] port {1} [of|on] {0}[.|]|[Can we|Can I] reach {0} on port {1}?|{0}:{1} [open|up]?"),
    ("smart_light light_switch set_lamp home_light smart_home_light", "Switch a lamp on or off", "room/location:room on/enabled/power/state:switch", "[Turn|Switch] {1} the [light|lights|lamp] in the {0}[.|]|[Turn|Switch] the [light|lights|lamp] in the {0} {1}[.|]|[Turn|Switch] the {0} [light|lights|lamp] {1}[.|]|[Lights|Lamp|Light] {1} in the {0}[.|]|{0} [light|lights] {1}[, please|][.|]|[I want|I need] the [light|lamp] in the {0} {1}[.|]|[Can you|Could you|Please] [turn|switch] {1} the {0} [light|lamp][?|.]|The [light|lamp] in the {0} [should be|must be] {1}[.|]|[Make sure|See that] the {0} light is {1}[.|]"),
    ("set_heating heater fan_control appliance", "Switch a device", "device/appliance/name:thing on/active/running:switch", "[Turn|Switch] {1} the {0}[.|]|[Turn|Switch] the {0} {1}[.|]|{0} {1}[, please|]|The {0} [should be|goes] {1}[.|]|[Can you|Please] [turn|switch] {1} the {0}[?|.]"),
    ("lock_door door_lock set_lock", "Lock or unlock a door", "door/room/name:room locked/lock:lock", "{1} the {0} door[.|]|[Please|Can you] {1} the door of the {0}[.|?]|[I want you to|Go and] {1} the {0}[.|]"),
    ("set_feature toggle_feature feature_flag", "Enable or disable a feature", "feature/flag/name:word enabled/active:enable", "{1} [the feature |the flag |]{0}[.|]|[Please|Can you] {1} {0}[.|?]|[We should|I want to|Let us] {1} {0}[.|]"),
    ("add_to_list shopping_list.add add_items shopping_add", "Add things to the shopping list", "items/goods/products:goods", "[Add|Put] {0} [to|on] [my|the] [shopping list|list][.|]|[We need|I need|Buy|Get|Don't forget] {0}[.|]|[Shopping list|List][:|] {0}|[Please|Can you] [add|note|write down] {0}[ for shopping|][.|?|]|{0} [should be|must go] on the [shopping |]list[.|]|[I have to|Remind me to|We must] buy {0}[.|]|[We are out of|There is no more|Missing:] {0}[.|]|{0}, [please|for the list][.|]"),
    ("invite_people invite send_invites", "Invite people to an event", "event/title:topic people/guests/names:people", "[Invite|Ask|Call] {1} to {0}[.|]|[Send|Write] [invitations|invites] for {0} to {1}[.|]|{1} [should come|are invited|must be invited] to {0}[.|]|[The guests of|For] {0}[:| invite] {1}[.|]|[Who comes to|Guests for] {0}: {1}[.|]|[I want|We want] {1} at {0}[, invite them|][.|]|[Please |]add {1} to {0}[.|]|{0} with {1}, [send the invitations|invite them][.|]"),
    ("tag_photo set_tags add_labels label", "Put tags on something", "photo/file/id:path tags/labels:labels", "[Tag|Label|Mark] {0} [with|as] {1}[.|]|[Add|Put|Set] the [tags|labels] {1} [to|on] {0}[.|]|{0} [gets|needs|should have] the [tags|labels] {1}[.|]|[Tags|Labels] [for|of] {0}: {1}"),
    ("delete_files remove_files clean_files", "Delete several files", "paths/files:files", "[Delete|Remove|Erase] {0}[.|]|[The files|Files] {0} [can go|are old, remove them|should be deleted][.|]|[Get rid of|Throw away] {0}[.|]|[Please|Can you] [delete|remove] {0}[.|?]"),
    ("compare_cities compare_places", "Compare several cities", "cities/places/locations:places", "[Compare|Rank] {0}[.|]|[Which of|Out of] {0}[, which|] is [the best|nicer|cheaper]?|[How do|Tell me how] {0} compare[?|.|]|[A comparison of|Comparison:] {0}[.|]"),
    ("set_volume volume", "Set the volume", "level/volume/percent:percent", "[Set|Turn|Change] the volume to {0}[ percent|%|][.|]|Volume {0}[.|]|[Make it|Play it at] {0} percent[.|]|[Louder|Quieter], {0} percent [please|][.|]"),
    ("order_pizza pizza.order", "Order a pizza", "size:size topping/toppings:topping", "[I'd like|I want|Get me|Order|Give me] a {0} pizza with {1}[.|]|[A|One] {0} pizza with {1}[, please|][.|]|[Order|Bring] a {1} pizza, {0}[.|]|[Can I|Could I] [have|get] a {0} pizza with {1}?|Pizza: {0}, {1}|[I am hungry|We are hungry][:|,] [a |]{0} pizza with {1}[.|]|{0} {1} pizza[, please|]"),
    ("order_drink make_coffee brew", "Make a drink", "drink/kind:drink cups/count/amount:counted", "[Make|Brew|Bring|Order] {1} [cups of |]{0}[.|]|[I'd like|We want] {1} cups of {0}[.|]|{1} {0}[s|], please[.|]|[Can I|May I] have {1} cups of {0}?"),
    ("lookup_stock_level check_stock inventory stock_level get_inventory", "How many pieces of an article are in a warehouse", "sku/article/item/product_id:article warehouse/store/location:store", "How many [pieces |units |items |]of {0} [do we have|are there|are left] in [the warehouse |warehouse |store |]{1}?|[Check|Look up|Show] the stock of {0} in [warehouse |store |]{1}[.|]|[What is|What's] the stock [level |]of {0} [in|at] {1}?|Is {0} [in stock|available|still there] [in|at] {1}?|[Do we have|Is there any] {0} [in|at] [the warehouse |]{1}?|Stock of {0}, [warehouse |]{1}[.|?|]|[How much|How many] {0} is [in|at] {1}?|[Tell me|I need to know] how many {0} [we have|are] in {1}[.|]"),
    ("send_message send_sms text_contact message_user sms", "Send a message to somebody", "to/recipient/contact:person message/text/body:message", "[Send|Text|Write] {0}[:| that| the message] \"{1}\"[.|]|[Tell|Let] {0} [know: |]\"{1}\"[.|]|[Send|Write] a message to {0}: \"{1}\"[.|]|[Message|SMS] to {0}: \"{1}\"|Please text {0} \"{1}\"[.|]|{0} [must|should] get the message \"{1}\"[.|]|[I want to|Could you] write to {0}: \"{1}\"[.|?]|[Can you|Please] send \"{1}\" to {0}[?|.]"),
    ("send_email email.send mail compose_mail", "Send an email", "to/recipient/address:email subject/title:topic body/text/content:message", "[Send|Write|Compose] an [email|e-mail|mail] to {0} with [the |]subject {1} and [the |][body|text] {2}[.|]|[Mail|Email] {0}[:|,] subject {1}, [body|text] {2}[.|]|[Send|Write] {0} an email [titled|called|with the title] {1}[ that says|:| saying] {2}[.|]|[To|Email to] {0}. Subject: {1}. [Text|Body]: {2}|[Can you|Please] [email|mail] {0} about {1}: {2}|Subject {1}, to {0}, body {2} - [send it|please send this mail][.|]|[An email|A mail] for {0}, subject \"{1}\", body \"{2}\"[.|]|[Write|Send] to {0}. The subject is {1} and the body is {2}[.|]"),
    ("call_taxi book_taxi order_ride ride.request", "Order a taxi", "pickup/from/start:place destination/to/dropoff:place", "[Order|Call|Book|Get me] a [taxi|cab|car|ride] from {0} to {1}[.|]|I need a [taxi|cab|ride] from {0} to {1}[.|]|[Pick me up|Collect me] at {0} and [bring|take|drive] me to {1}[.|]|Taxi {0} to {1}[, please|][.|]"),
    ("find_recipe search_recipes recipe", "Find a recipe", "dish/food/query:food servings/people/persons:counted", "[Find|Show me|I need|Search] a recipe for {0} for {1} [people|persons|guests][.|]|How do I [make|cook] {0} for {1}[ people|]?|[Recipe|Recipes] for {0}, {1} [servings|people][.|]|[We are|There are] {1} people and want {0}. [Find a recipe.|Recipe?]"),
    ("translate_word translate dict_translate", "Translate a word", "word/text:word to/target/language:language", "[Translate|Please translate] {0} [to|into] {1}[.|]|[What is|How do I say] {0} in {1}?|{0} in {1}[?|, please.|]|[I need|Give me] the {1} word for {0}[.|]"),
    ("get_exchange_rate exchange_rate fx_rate", "Get an exchange rate", "base/from:symbol quote/to:symbol", "[What is|What's|Show me|Get] the [exchange rate|rate] [from|of|between] {0} [to|and] {1}[?|.]|How much is one {0} in {1}?|{0}/{1} [rate|][?|]"),
    ("get_user_orders list_orders order_history", "List the orders of a customer", "customer_id/user_id/customer:article limit/max/count:counted", "[Show|List|Get] the last {1} orders of [customer |user |]{0}[.|]|[What|Which] did [customer |user |]{0} order[ lately|]? [The last {1} only|Show {1}|{1} entries][.|]|[Last|The last] {1} orders for {0}[.|]"),
    ("cancel_order cancel_booking order.cancel", "Cancel an order", "order_id/id/number:article", "[Cancel|Stop|Undo] [my |the |][order|booking|reservation] {0}[.|]|[I want to|Please|I'd like to] cancel {0}[.|]|[Order|Booking] {0} [must|should] be cancelled[.|]|I do not want {0} any more[, cancel it|][.|]"),
    ("refund issue_refund pay_back", "Pay money back", "order_id/invoice/id:article amount/sum:int", "[Refund|Pay back|Give back] {1} [dollars |euros |][for|of|on] [order |invoice |]{0}[.|]|The customer [wants|needs|gets] a refund of {1}[ for {0}|, order {0}][.|]" + "|Order {0}: refund {1}[.|]"),
    ("find_contact search_contacts phone_book", "Find a contact", "name/query/person:person", "[What is|What's] the [phone |]number of {0}?|[Find|Look up|Search] {0} [in my contacts|in the phone book|for me][.|]|[Do I|Do we] have the number of {0}?|[Contact|Number] of {0}[, please|][.|?]|How can I reach {0}?"),
    ("play_playlist play_mood music_mood", "Play music for a mood", "mood/style:mood", "[Play|Put on] [something|some] {0}[ music|][.|]|I [want|need] [to hear |]{0} music[.|]|[I feel like|Give me] something {0}[, play it|, please play it][.|]"),
    ("get_events events_on calendar_day whats_on", "Get the events of a day", "date/day:date", "[What do I have|What's on my calendar|What is planned|Which meetings do I have] [on |for |]{0}?|[Show|List] my [events|meetings|calendar] [for|on] {0}[.|]|Am I [free|busy] [on |]{0}?|[Anything|Something] planned [for|on] {0}?"),
    ("movie_search find_film search_movies", "Find films", "genre/topic/query:mood year/released:year", "[Find|Show me|Search] [a |]{0} [film|films|movie|movies] [from|of] {1}[.|]|[Which|What] {0} [films|movies] came out in {1}?|[Films|Movies] from {1}, {0}[.|]"),
    ("calculate_tip tip", "Calculate a tip", "amount/bill:int percent/rate:percent", "[What is|Calculate|How much is] a {1} [percent|%] tip on {0}[?|.]|[Tip|Tip me] {1} percent of {0}[.|]|The bill is {0}[. Add|, add|. I want to tip] {1} percent[.|]"),
    ("bmi compute_bmi body_mass_index", "Compute the body mass index", "weight/weight_kg:int height/height_cm:int", "[I weigh|My weight is] {0} kg and [I am|my height is] {1} cm[ tall|]. [What is my BMI?|BMI?|Compute my BMI.]|BMI [for|of] {0} kg and {1} cm[?|.|]|[Compute|Calculate] the BMI [for|of|with] {0} kg, {1} cm[.|]"),
    ("water_plant irrigate garden_water", "Water a part of the garden", "zone/bed/plant:thing minutes/duration:counted", "[Water|Irrigate] the {0} for {1} minutes[.|]|[The|My] {0} [needs|need] water, {1} minutes[.|]|{1} minutes of water for the {0}[.|]"),
    ("start_robot vacuum clean_room", "Clean a room", "room/area:room", "[Clean|Vacuum|Hoover] the {0}[.|]|[The|My] {0} is [dirty|dusty][.|, clean it.|, please clean.]|[Send the robot|Let the robot go] to the {0}[.|]|[Start|Begin] cleaning [in |]the {0}[.|]"),
    ("set_status update_status ticket_status", "Change the status of a ticket", "ticket/id/ticket_id:article status/state:word", "[Set|Change|Move|Update] [ticket |issue |]{0} to {1}[.|]|[Mark|Flag] [ticket |issue |]{0} as {1}[.|]|[Ticket|Issue] {0} is [now |]{1}[, update it|][.|]|The status of {0} [should be|becomes] {1}[.|]"),
    ("assign_ticket assign reassign", "Assign a ticket to somebody", "ticket/id/issue:article assignee/user/person:person", "[Assign|Give|Hand] [ticket |issue |]{0} to {1}[.|]|{1} [should|will|must] [take|do|handle] [ticket |]{0}[.|]|[Let|Make] {1} [do|take] {0}[.|]"),
    ("scale_deployment scale set_replicas", "Scale a deployment", "deployment/service/name:pod replicas/count/instances:counted", "[Scale|Set|Resize] {0} to {1} [replicas|instances|pods|copies][.|]|[I want|We need|Give me|Run] {1} [replicas|instances|copies] of {0}[.|]|{0} [needs|should have|must have] {1} [replicas|instances][.|]"),
    ("get_metric metrics query_metric", "Read a metric of a service", "metric/name:word service/target:pod", "[What is|Show|Get|Read] the {0} of {1}[?|.|]|[How high|How much] is {0} [on|of|at] {1}?|{0} of {1}[?|]|[Check|Plot] {0} for {1}[.|]"),
]
