"""The data of a translation: facts with versions, their merge functions, and the states that they form."""
