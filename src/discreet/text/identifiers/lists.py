"""Public lists that surrogates are drawn from: common given names and surnames, invented places.

Written for this project. Given names that are also everyday words ("Grace", "Will") are left out,
because the rules look for these names too. Places and organisations are put together from parts.
"""

_FIRST_NAMES = """
Adam Adele Adrian Agnes Ahmed Aisha Alan Albert Alejandro Alex Alexander Alice Alicia Amanda
Amelia Amir Ana Andrea Andreas Andrew Angela Anita Anna Anne Anthony Antonio Arthur Astrid
Barbara Beatrice Benjamin Bernard Bettina Brian Bridget Bruno Camille Carla Carlos Carmen
Caroline Catherine Cecilia Charles Charlotte Chen Chloe Christina Christopher Clara Claudia
Craig Cynthia Daniel Daniela David Deborah Denise Dennis Diana Diego Dmitri Dominic Donald Doris
Dorothy Douglas Edward Eleanor Elena Elias Elizabeth Emily Emma Eric Erika Esther Eugene Eva
Evelyn Fatima Felix Fernando Fiona Florian Frances Francesca Gabriel Gavin Geoffrey George
Gerald Gloria Gregory Greta Hannah Hans Harold Hassan Helen Helena Henrik Henry Hiroshi Hugo Ian
Ibrahim Igor Ingrid Irene Isaac Isabel Ivan Jacob Jacqueline James Jane Janet Jasmine Jason
Javier Jennifer Jeremy Jessica Joan Johan John Jonathan Jose Joseph Joshua Juan Judith Julia
Julian Karen Karl Katarina Kathleen Keith Kenneth Kevin Khalid Laura Lauren Leila Leo Leonard
Liam Linda Lucas Lucia Lucy Luis Magnus Malcolm Marcus Margaret Maria Marie Marina Mario Martha
Martin Mary Matthew Maya Mei Melissa Michael Miguel Mohammed Monica Nadia Naomi Natalie Nathan
Neil Nicholas Nicole Nina Nora Olga Oliver Olivia Omar Oscar Pamela Patricia Paul Paula Pedro
Peter Philip Priya Rachel Rafael Raj Raymond Rebecca Ricardo Richard Robert Roger Ronald Rosa
Ruth Samuel Sandra Sara Sarah Sebastian Sharon Simon Sofia Sophie Stefan Stephanie Stephen
Steven Susan Sven Sylvia Tamara Teresa Theodore Theresa Thomas Timothy Tobias Valerie Vanessa
Veronica Victoria Vincent Walter Wendy William Yasmin Yuki Yusuf Zoe
"""
_SURNAMES = """
Abbott Acosta Adams Adler Ahmad Aldridge Allard Allen Alvarez Andersen Anderson Andrade Appleby
Archer Arnold Ashworth Atkins Bailey Banerjee Barker Barnett Baron Barrett Bauer Becker Bennett
Berger Bergman Bianchi Bishop Blackwood Blake Bauman Bolton Bowen Boyd Bradley Braun Brennan
Briggs Brooks Bryant Buchanan Burgess Burke Burton Byrne Cabrera Caldwell Calloway Cameron
Campbell Carlson Carpenter Carroll Carver Castillo Cavanagh Chandler Chapman Chavez Choi Clarke
Clayton Clifford Cohen Coleman Collins Connolly Conrad Contreras Cooper Corbett Cortez Costello
Crawford Cruz Cunningham Curtis Dalton Davenport Dawson Delgado Dempsey Desai Devlin Dixon
Donovan Doyle Drummond Dubois Duncan Dunn Eklund Elliott Ellis Emerson Engel Eriksson Espinoza
Evans Farrell Faulkner Ferguson Ferrara Fischer Fitzgerald Fleming Fletcher Flores Forsyth
Foster Fournier Fraser Freeman Fuentes Gallagher Garcia Gardner Garrison Gerber Gibson Gilbert
Goldberg Gomez Gonzalez Gordon Graham Griffin Gupta Gustafsson Haddad Hagen Hamilton Hammond
Hansen Harper Harrington Hartmann Hawkins Hayashi Hayes Heath Henderson Hernandez Hoffmann
Holloway Horvath Houston Howell Hughes Hussain Ibarra Ishikawa Jackson Jacobsen Jansen Jenkins
Jensen Jimenez Johansson Johnston Kaminski Kapoor Karlsson Kaufman Keller Kennedy Kessler Khan
Kimura Kincaid Klein Kovacs Kowalski Kruger Kumar Lambert Larsen Lawson Leclerc Lehmann Leonardi
Lindgren Lindqvist Lockwood Lombardi Lopez Lowell Lundberg Maddox Maguire Mahoney Malone Mancini
Marchetti Marlowe Marsden Martinez Mathews McAllister McCarthy McGrath Medina Mendoza Mercer
Meyer Middleton Mitchell Molina Moreau Moreno Moretti Morgan Morrison Mueller Murphy Nakamura
Navarro Nielsen Nguyen Novak Nowak Ochoa Okafor Olsen Ortega Osborne Padilla Palmer Pappas
Parsons Patel Pearson Pedersen Pereira Peterson Petrov Phillips Pierce Porter Powell Prescott
Quinn Ramirez Ramsey Rasmussen Reid Reyes Reynolds Richter Riley Rinaldi Rivera Robertson
Rodriguez Romano Rosario Rossi Rousseau Russo Rutherford Ryan Salazar Sanders Santiago Sato
Sawyer Schmidt Schneider Schreiber Schultz Sharma Sheridan Simmons Sinclair Singh Soto Spencer
Stanton Stefansson Sullivan Sutherland Suzuki Takahashi Tanaka Thornton Torres Tucker Underwood
Valdez Vargas Vasquez Vaughn Vogel Wagner Wallace Watanabe Weber Whitaker Winkler Yamamoto Zhang
"""
_PLACE_STEMS = """
Alder Amber Arden Ashen Bell Birch Black Bram Briar Bucken Calder Carr Cedar Clay Cold Corn
Dales Dunn Elder Elm Fallow Fen Fern Gold Green Hallow Harrow Hazel Heron Hollow Kestrel Lang
Larch Linden Marl Mill Moor North Oak Ravens Red Rowan Sedge Silver Stone Thistle West Willow
Winter Wren
"""
_PLACE_ENDINGS = """
borough bourne bridge brook bury by cliff combe dale den field ford gate ham haven holm hurst
leigh mead mere minster mouth port ridge shaw stead stoke ton wick wood
"""
_ORGANISATION_STEMS = """
Acorvia Aldermoor Amberlane Ardentis Arkwell Aurelon Avenmore Balecrest Barrowfen Bexholm
Bluemarsh Branmere Brightwen Calverne Candorix Caskwell Cedrano Cindervale Corvanta Cressida
Dalemark Deltarova Dorwick Drayfield Duskwater Eastmere Elbrook Eldanor Emberline Evercombe
Fairwend Falconbay Fenwright Ferrosca Firthline Galdera Glenhart Goldenmoor Greyharbour Halvorsa
Harborlyn Hawksmoor Heliantra Hollinbrook Icknell Indigora Ironquay Jadewell Juniperis Kelmore
Kestronix Kingsbarrow Lakeholme Larkspurn Lindenhall Lumetra Marwick Meadowlark Mistralon
Monteville Nimbus Northlume Novaquil Oakenshaw Opaline Orlanda Palisandro Pembertine Pinecroft
Quarrymill Quillon Ravelstone Redfernia Riverane Rookwell Sablecrest Sandholme Selkirk
Silverbeck Solvanta Stonewell Summerlyn Tamarisco Tarnwood Tidewell Trevanion Umberfield Valorin
Vellacott Vireon Wexmoor Whitlock Wolfden Wrenfield Xandria Yarrowby Zephyrine
"""
_ORGANISATION_KINDS = """
Ltd Group Partners Holdings Systems Trading Foundation
"""
_AREA_CODES = """
201 202 206 212 213 214 215 216 303 305 312 313 314 317 404 408 410 412 414 415 502 503 504 505
512 513 602 614 615 617 619 702 703 713 716 718 801 804 813 816 901 904 916 919
"""
_MONTHS = """
January February March April May June July August September October November December
"""

FIRST_NAMES = tuple(_FIRST_NAMES.split())
SURNAMES = tuple(_SURNAMES.split())
PLACE_STEMS = tuple(_PLACE_STEMS.split())
PLACE_ENDINGS = tuple(_PLACE_ENDINGS.split())
ORGANISATION_STEMS = tuple(_ORGANISATION_STEMS.split())
ORGANISATION_KINDS = tuple(_ORGANISATION_KINDS.split())
AREA_CODES = tuple(_AREA_CODES.split())
MONTHS = tuple(_MONTHS.split())
