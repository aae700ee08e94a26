import './document.suite.js';
import './executions.suite.js';
import './messages.suite.js';
import './things.suite.js';
import './events.suite.js';
import './failures.suite.js';
import './values.suite.js';
import './page.suite.js';
